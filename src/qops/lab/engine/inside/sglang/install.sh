#!/bin/sh
# Fill SGLang's layer: in a Debian 12 container in which the layer's volume is /opt/sglang, vLLM's layer is /opt/vllm,
# and pip's own package lies below /pip. The Python, torch and most packages are vLLM's.
set -eu

layer=/opt/sglang
python=/opt/vllm/bin/python3.11
site=$layer/site

echo 'step: clearing the volume'
find $layer -mindepth 1 -delete

# Without what it requires: nearly all of that is for GPUs, and torch would be another one.
echo "step: pip install sglang==$VERSION"
PYTHONPATH=/pip $python -m pip --no-cache-dir --no-input install --no-deps --target $site "sglang==$VERSION"

# What it imports and vLLM does not bring. Its kernels are written in Triton; on the CPU none is compiled.
echo 'step: pip install what it imports'
PYTHONPATH=/pip $python -m pip --no-cache-dir --no-input install --no-deps --target $site \
  blobfile distro easydict gguf orjson soundfile timm 'triton==3.7.0' xxhash zstandard
PYTHONPATH=/pip $python -m pip --no-cache-dir --no-input install --target $site ipython

echo 'step: standing in for its GPU kernels'
mkdir -p $site/sgl_kernel $layer/bin
cp /inside/sglang/sgl_kernel_stub.py $site/sgl_kernel/__init__.py
cp /inside/sglang/sglang.sh $layer/bin/sglang
chmod 755 $layer/bin/sglang
chmod -R a+rX $layer

echo 'step: trying it'
HOME=/tmp $layer/bin/sglang version
echo whole >$layer/whole
echo 'step: done'
