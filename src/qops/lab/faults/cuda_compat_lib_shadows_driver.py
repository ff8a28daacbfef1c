"""A forward-compatibility libcuda stands in front of the driver's."""

import base64
import shlex

from qops.lab.fault import Fault
from qops.lab.packages.definition import architecture
from qops.lab.packages.shared_object import shared_object

# The library is a stand-in without code, which the loader knows by its name: the real one cannot be shipped. Path, name
# and the loader's configuration are the real package's.
_VERSION = "575.57.08"
_FOLDER = "/usr/local/cuda/compat"
_LIBRARY = base64.b64encode(shared_object("libcuda.so.1", architecture(), "a stand-in of the qops lab")).decode()

FAULT = Fault(
    cause="cuda-compat-lib-shadows-driver",
    about="a cuda-compat libcuda comes before the driver's on the loader's path",
    plant=(
        f"mkdir -p {_FOLDER}",
        f"echo {shlex.quote(_LIBRARY)} | base64 -d >{_FOLDER}/libcuda.so.{_VERSION}",
        f"ln -sfn libcuda.so.{_VERSION} {_FOLDER}/libcuda.so.1",
        f"ln -sfn libcuda.so.1 {_FOLDER}/libcuda.so",
        f"echo {_FOLDER} >/etc/ld.so.conf.d/00-cuda-compat.conf",
        "ldconfig",
    ),
    mend=(
        f"rm -rf {_FOLDER} /etc/ld.so.conf.d/00-cuda-compat.conf*",
        "rmdir /usr/local/cuda 2>/dev/null || true",
        "ldconfig",
    ),
    check=f"ldconfig -p | grep -q {_FOLDER}/libcuda.so.1",
    parameters=(("library", _VERSION),),
)
