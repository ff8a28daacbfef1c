"""Rules of the cuda family, one file per cause."""

from qops.rule import Rule
from qops.rules.cuda.allocation_exceeds_gpu_memory import allocation_exceeds_gpu_memory
from qops.rules.cuda.backend_silent_garbage_on_arch import backend_silent_garbage_on_arch
from qops.rules.cuda.backend_unsupported_on_arch import backend_unsupported_on_arch
from qops.rules.cuda.cuda_compat_lib_shadows_driver import cuda_compat_lib_shadows_driver
from qops.rules.cuda.cuda_error import cuda_error
from qops.rules.cuda.cuda_stub_library import cuda_stub_library
from qops.rules.cuda.driver_library_version_mismatch import driver_library_version_mismatch
from qops.rules.cuda.driver_too_old_for_image import driver_too_old_for_image
from qops.rules.cuda.fabric_manager_not_running import fabric_manager_not_running
from qops.rules.cuda.fabric_state_in_progress import fabric_state_in_progress
from qops.rules.cuda.forward_compat_unsupported_gpu import forward_compat_unsupported_gpu
from qops.rules.cuda.image_brings_other_libcuda import image_brings_other_libcuda
from qops.rules.cuda.image_fits import image_fits
from qops.rules.cuda.image_needs_newer_driver import image_needs_newer_driver
from qops.rules.cuda.image_of_other_architecture import image_of_other_architecture
from qops.rules.cuda.image_ptx_newer_than_driver import image_ptx_newer_than_driver
from qops.rules.cuda.image_stub_on_loader_path import image_stub_on_loader_path
from qops.rules.cuda.image_too_new_for_driver import image_too_new_for_driver
from qops.rules.cuda.image_without_code_for_gpu import image_without_code_for_gpu
from qops.rules.cuda.jit_compiler_missing import jit_compiler_missing
from qops.rules.cuda.kernel_bug_illegal_access import kernel_bug_illegal_access
from qops.rules.cuda.no_kernel_image_for_arch import no_kernel_image_for_arch
from qops.rules.cuda.no_visible_gpu import no_visible_gpu
from qops.rules.cuda.ptxas_too_old_for_arch import ptxas_too_old_for_arch
from qops.rules.cuda.specdecode_kernel_illegal_access import specdecode_kernel_illegal_access

RULES: tuple[Rule, ...] = (
    driver_too_old_for_image,
    cuda_compat_lib_shadows_driver,
    forward_compat_unsupported_gpu,
    cuda_stub_library,
    driver_library_version_mismatch,
    fabric_manager_not_running,
    fabric_state_in_progress,
    no_visible_gpu,
    no_kernel_image_for_arch,
    ptxas_too_old_for_arch,
    backend_unsupported_on_arch,
    backend_silent_garbage_on_arch,
    jit_compiler_missing,
    kernel_bug_illegal_access,
    specdecode_kernel_illegal_access,
    allocation_exceeds_gpu_memory,
    cuda_error,
    image_needs_newer_driver,
    image_without_code_for_gpu,
    image_too_new_for_driver,
    image_brings_other_libcuda,
    image_stub_on_loader_path,
    image_ptx_newer_than_driver,
    image_of_other_architecture,
    image_fits,
)
