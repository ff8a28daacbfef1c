"""Rules of the serve family, one file per cause."""

from qops.rule import Rule
from qops.rules.serve.allocator_vs_custom_allreduce import allocator_vs_custom_allreduce
from qops.rules.serve.checkpoint_config_unreadable import checkpoint_config_unreadable
from qops.rules.serve.checkpoint_dtype_differs import checkpoint_dtype_differs
from qops.rules.serve.checkpoint_files_missing import checkpoint_files_missing
from qops.rules.serve.checkpoint_fused_parts_differ import checkpoint_fused_parts_differ
from qops.rules.serve.checkpoint_kv_scales_missing import checkpoint_kv_scales_missing
from qops.rules.serve.checkpoint_lists_disagree import checkpoint_lists_disagree
from qops.rules.serve.checkpoint_needs import checkpoint_needs
from qops.rules.serve.checkpoint_tokenizer_missing import checkpoint_tokenizer_missing
from qops.rules.serve.checkpoint_whole import checkpoint_whole
from qops.rules.serve.checkpoint_without_chat_template import checkpoint_without_chat_template
from qops.rules.serve.cpu_thread_oversubscription import cpu_thread_oversubscription
from qops.rules.serve.cuda_oom_graph_capture import cuda_oom_graph_capture
from qops.rules.serve.cuda_oom_warmup import cuda_oom_warmup
from qops.rules.serve.engine_bad_flag import engine_bad_flag
from qops.rules.serve.engine_context_too_long import engine_context_too_long
from qops.rules.serve.engine_core_failed import engine_core_failed
from qops.rules.serve.engine_model_not_found import engine_model_not_found
from qops.rules.serve.engine_ready import engine_ready
from qops.rules.serve.engine_serves import engine_serves
from qops.rules.serve.engine_silent_at_nccl import engine_silent_at_nccl
from qops.rules.serve.engine_stalled import engine_stalled
from qops.rules.serve.fork_after_cuda_init import fork_after_cuda_init
from qops.rules.serve.fp8_kv_scales_missing import fp8_kv_scales_missing
from qops.rules.serve.gb10_unified_memory_oom import gb10_unified_memory_oom
from qops.rules.serve.gpu_memory_held_by_orphan import gpu_memory_held_by_orphan
from qops.rules.serve.graph_capture_error_masked import graph_capture_error_masked
from qops.rules.serve.hf_auth_missing import hf_auth_missing
from qops.rules.serve.hf_xet_download_stall import hf_xet_download_stall
from qops.rules.serve.image_missing import image_missing
from qops.rules.serve.kv_cache_too_small import kv_cache_too_small
from qops.rules.serve.model_hub_unreachable import model_hub_unreachable
from qops.rules.serve.model_overlay_outdated import model_overlay_outdated
from qops.rules.serve.nvfp4_ignore_list_garbage import nvfp4_ignore_list_garbage
from qops.rules.serve.nvfp4_ignore_list_shape_mismatch import nvfp4_ignore_list_shape_mismatch
from qops.rules.serve.port_in_use import port_in_use
from qops.rules.serve.service_held import service_held
from qops.rules.serve.service_not_ready import service_not_ready
from qops.rules.serve.shm_broadcast_wait import shm_broadcast_wait
from qops.rules.serve.tool_call_parser_mismatch import tool_call_parser_mismatch
from qops.rules.serve.weights_corrupt import weights_corrupt
from qops.rules.serve.weights_incomplete import weights_incomplete

RULES: tuple[Rule, ...] = (
    kv_cache_too_small,
    cuda_oom_warmup,
    cuda_oom_graph_capture,
    graph_capture_error_masked,
    gb10_unified_memory_oom,
    allocator_vs_custom_allreduce,
    cpu_thread_oversubscription,
    fork_after_cuda_init,
    port_in_use,
    hf_auth_missing,
    hf_xet_download_stall,
    nvfp4_ignore_list_garbage,
    nvfp4_ignore_list_shape_mismatch,
    fp8_kv_scales_missing,
    tool_call_parser_mismatch,
    engine_bad_flag,
    engine_context_too_long,
    engine_model_not_found,
    engine_ready,
    engine_serves,
    shm_broadcast_wait,
    engine_core_failed,
    engine_silent_at_nccl,
    engine_stalled,
    weights_incomplete,
    weights_corrupt,
    model_overlay_outdated,
    image_missing,
    service_held,
    service_not_ready,
    checkpoint_files_missing,
    checkpoint_config_unreadable,
    checkpoint_tokenizer_missing,
    checkpoint_without_chat_template,
    checkpoint_lists_disagree,
    checkpoint_fused_parts_differ,
    checkpoint_kv_scales_missing,
    checkpoint_dtype_differs,
    checkpoint_whole,
    checkpoint_needs,
    gpu_memory_held_by_orphan,
    model_hub_unreachable,
)
