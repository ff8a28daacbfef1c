"""A forward-compatibility libcuda stands in front of the driver's."""

from qops.lab.fault import Fault

# The library is a stand-in without code: the real one cannot be shipped. Path, name and the loader's
# configuration are the real package's.
FAULT = Fault(
    cause="cuda-compat-lib-shadows-driver",
    about="a cuda-compat libcuda comes before the driver's on the loader's path",
    plant=(
        "mkdir -p /usr/local/cuda/compat",
        "echo 'stand-in of qops lab' >/usr/local/cuda/compat/libcuda.so.575.57.08",
        "ln -sfn libcuda.so.575.57.08 /usr/local/cuda/compat/libcuda.so.1",
        "ln -sfn libcuda.so.1 /usr/local/cuda/compat/libcuda.so",
        "echo /usr/local/cuda/compat >/etc/ld.so.conf.d/00-cuda-compat.conf",
    ),
    mend=(
        "rm -rf /usr/local/cuda/compat /etc/ld.so.conf.d/00-cuda-compat.conf",
        "rmdir /usr/local/cuda 2>/dev/null || true",
    ),
    check="[ -e /usr/local/cuda/compat/libcuda.so.1 ] && [ -e /etc/ld.so.conf.d/00-cuda-compat.conf ]",
    parameters=(("library", "575.57.08"),),
)
