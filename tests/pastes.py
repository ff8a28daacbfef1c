"""Small texts as people paste them, of the kinds that no recording holds: food for the mutation of parsers."""

PASTES = (
    """[  510.762654] python3 invoked oom-killer: gfp_mask=0x100cca(GFP_HIGHUSER_MOVABLE), order=0, oom_score_adj=0
[  510.910332] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,task_memcg=/llm,task=python3,pid=23,uid=0
[  510.917639] Memory cgroup out of memory: Killed process 23 (python3) total-vm:1kB, anon-rss:1kB
[  511.000001] pcieport 0000:00:1b.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Physical Layer, (Receiver ID)
[  511.000002] pcieport 0000:00:1b.0:   device [8086:a343] error status/mask=00000020/00000000
[  512.000001] {1}[Hardware Error]:   device_id: 0000:c1:00.0
[  512.000002] {1}[Hardware Error]:   aer_uncor_status: 0x00000020, aer_uncor_mask: 0x00100000
Dec  1 08:01:02 node7 kernel: NVRM: Xid (PCI:0000:3b:00 GPU-I:05): 94, pid=77, name=python3, Contained
[  513.000001] nvidia-nvswitch2: SXid (PCI:0000:c5:00.0): 20034, Fatal, Link 12 LTSSM Fault Up
[    0.910716] AMD-Vi: Interrupt remapping enabled
[    2.553212] iommu: Default domain type: Translated
[    0.000000] Command line: BOOT_IMAGE=/vmlinuz-6.8.0 root=UUID=ab ro quiet iommu=pt pci=realloc
""",
    """[{"Id": "3f2a", "Name": "/llm", "State": {"Running": false, "ExitCode": 137, "OOMKilled": true, "Pid": 0},
"Config": {"Image": "vllm/vllm-openai:v0.15.0", "Env": ["NCCL_DEBUG=INFO"], "Cmd": ["--model", "x"]},
"HostConfig": {"ShmSize": 67108864, "IpcMode": "private", "Runtime": "nvidia", "RestartPolicy": {"Name": "always"},
"Ulimits": [{"Name": "memlock", "Hard": -1, "Soft": -1}], "CapAdd": ["SYS_NICE"],
"DeviceRequests": [{"Driver": "", "Count": -1, "Capabilities": [["gpu"]]}]}}]
""",
    """services:
  llm:
    image: vllm/vllm-openai:v0.15.0
    shm_size: 16gb
    ulimits:
      memlock: -1
    environment:
      NCCL_DEBUG: "INFO"
    deploy:
      resources:
        reservations:
          devices:
            - driver: cdi
docker run -d --gpus all --shm-size=16g -e NCCL_P2P_LEVEL=NVL \\
  --ulimit memlock=-1 vllm/vllm-openai:v0.15.0 --model x
CONTAINER ID   IMAGE    COMMAND   CREATED       STATUS                      PORTS     NAMES
b1b2c3d4e5f6   sglang:v0.5   "bash"   3 days ago    Exited (137) 5 minutes ago            other
""",
    """== gpu processes
== pid 101
Name:\tpython3
State:\tR (running)
PPid:\t100
Threads:\t8
rchar: 1538411
wchan: 0
== process tree
process: 100 101 R 600 python3
process: 101 110 S 4 nvcc
== gpu process details
cmdline 101: /usr/bin/python3 -u train.py
/proc/101/maps:/usr/lib/x86_64-linux-gnu/libcuda.so.580.95.05
nccl package: /opt/venv/lib/python3.12/site-packages/nvidia_nccl_cu13-2.28.9.dist-info
USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND
root 91 99.0 1.0 10 10 ? Dl 10:15 1:00 python3 -m vllm
Process 59: /opt/venv/bin/python3 -u job.py
Python v3.12.3 (/usr/bin/python3.12)

Thread 59 (active): "MainThread"
    cuCtxSynchronize_v2 (libcuda.so.580.1)
    synchronize (torch/cuda/__init__.py:1162)
""",
    """max locked memory           (kbytes, -l) 64
$ ulimit -l
64
Max locked memory         8388608              unlimited            bytes
LimitMEMLOCK=infinity
shm              65536    12     65524   1% /dev/shm
tmpfs on /dev/shm type tmpfs (rw,nosuid,nodev,size=2048k)
$ ls -l /dev/shm
-rw------- 1 root root 9637892 Nov 30 10:15 nccl-9RtYu1
vm.max_map_count = 65530
   total used free shared buff/cache available
Mem:  125Gi 80Gi 5Gi 1Gi 40Gi 44Gi
== iommu units
unit dmar0
== iommu groups
     41 DMA-FQ
Module                  Size  Used by
nvidia_uvm           1830912  0
nvidia/570.86.10, 6.8.0-31-generic, x86_64: installed
/lib/modules/6.5.0-18-generic/updates/dkms/nvidia.ko.zst
""",
    """$ env NCCL_DEBUG=INFO NCCL_P2P_DISABLE=1 python3 job.py
export NCCL_IB_DISABLE="1" && ./run.sh
Environment="CUDA_VISIBLE_DEVICES=0,1" "NCCL_P2P_LEVEL=PIX"
NCCL_P2P_LEVEL=4 (SYS)
- name: NCCL_DEBUG
  value: "WARN"
== file /etc/nccl.conf
NCCL_SOCKET_IFNAME=bond0
/usr/local/cuda/compat:
libcuda.so.1 -> libcuda.so.580.95.05
\tlibcuda.so.1 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libcuda.so.1
LD_LIBRARY_PATH=/usr/local/cuda/compat
note /usr/local/cuda/compat/libcuda.so.580.95.05 {"format":1,"CUDA version":"13.0","driver":[535,570],"device":[7]}
   268435456      67108864     float     sum      -1    912.4  294.21  294.21       0    910.1  294.95  294.95       0
# Avg bus bandwidth    : 294.58
[rc=124]
""",
)
