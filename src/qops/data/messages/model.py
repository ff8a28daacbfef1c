"""Messages about a checkpoint, its quantisation, the hub that it comes from, and what the model puts out."""

from qops.evidence.message import Message

GATED = Message(
    "engine-gated-repository",
    r"GatedRepoError|Cannot access gated repo|is (?:a gated repo|gated\. You must|restricted\. You must)|"
    r"Access to model \S+ is restricted|You are trying to access a gated repo|"
    r"(?:401|403) Client Error.{0,80}(?:huggingface|/resolve/|/api/models/)|Invalid user token|Invalid credentials in Authorization|"
    r"(?:401 Unauthorized|403 Forbidden)' for url '[^']{0,60}(?:huggingface|hf\.co)|"
    r"(?:401|403) (?:Unauthorized|Forbidden)\b.{0,80}\bgated\b|Token is required|LocalTokenNotFoundError|make sure to request access at|"
    r"(?P<unknown>RepositoryNotFoundError: 401 Client Error)",
    (
        "gated",
        "is restricted",
        "Client Error",
        "401 Unauthorized",
        "403 Forbidden",
        "Invalid user token",
        "Invalid credentials",
        "Token is required",
        "LocalTokenNotFoundError",
        "request access at",
    ),
    "huggingface_hub/errors.py, utils/_http.py; transformers utils/hub.py",
)
XET = Message(
    "engine-xet",
    r"\bhf[_-]xet\b|\bHF_XET_[A-Z]|xet_get|cas-(?:server|bridge)\.xethub|xethub\.hf\.co",
    ("hf_xet", "hf-xet", "xet_get", "xethub"),
    "huggingface_hub/file_download.py xet_get; xet-core's settings",
)
XET_STALL = Message(
    "engine-xet-stall",
    r"(?:xet|cache directory|download|\.safetensors|\btransfer).{0,120}(?:stops? growing|\bstall(?:s|ed)?\b|\bstuck\b|no (?:further )?progress|"
    r"no change\b|never (?:progress|finish|complet|resum)|stand(?:s|ing)? still|0\.00B/s|\bhang(?:s|ing)?\b|\bhung\b|"
    r"\bfreezes?\b|\bfroze)|"
    r"(?:stops? growing|\bstall(?:s|ed)?\b|stuck at|no progress|\bhang(?:s|ing)?\b|\bhung\b|\bfreezes?\b|\bfroze\w{0,1}\b).{0,120}(?:xet|download)",
    (
        *("stop growing", "stops growing", "stall", "stuck", "no progress", "no further progress", "no change"),
        *(
            "never progress",
            "never finish",
            "never complet",
            "never resum",
            "stands still",
            "standing still",
            "0.00B/s",
        ),
        *("stand still", " hang", "hung", "freeze", "froze"),
    ),
    "xet-core and huggingface_hub issues; hf_xet 1.5.1",
)
XET_WITHOUT = Message(
    "engine-xet-without",
    r"(?:disabl\w{0,4}|uninstall\w{0,4}|without|remov\w{0,4}|HF_HUB_)\W{0,3}(?:the )?(?:DISABLE_|hf[-_ ]?)?xet.{0,80}?"
    r"(?<!not )(?:\bworks\b|\bworked\b|complete[sd]?\b|succeed|finishe[sd]|(?:is|was|are|loads?|downloads?) fine|fixe[sd]\b|"
    r"solve[sd]\b|resolve[sd]\b|helped\b)|"
    r"(?<!not )(?:\bworks\b|\bworked\b|completes\b|succeeds\b|finishes\b|is fine\b).{0,60}?"
    r"(?:disabl\w{0,4}|uninstall\w{0,4}|without|remov\w{0,4}|HF_HUB_)\W{0,3}(?:the )?(?:DISABLE_|hf[-_ ]?)?xet",
    ("xet",),
    "people's own words: xet-core#850, #869, #883; hf_transfer#30",
)
DOWNLOAD_STILL = Message(
    "engine-download-still",
    r"(?:Fetching \d+ files|\w\.(?:safetensors|gguf|bin|pt)\b|Downloading).{0,160}\|.{0,120}"
    r"\[(?P<elapsed>(?:\d{1,3}:)?\d{1,2}:\d\d)<\?, +\?(?:B|it)/s",
    ("?B/s", "?it/s"),
    "tqdm bars of huggingface_hub: no rate is known when nothing came since the bar was made",
)
NO_PARAMETER = Message(
    "engine-no-such-parameter",
    r"(?:There is no module or parameter named|KeyError:|Following weights were not initialized|Unexpected key).{0,40}"
    r"['\"](?P<name>[\w.]*(?:input_scale|weight_scale(?:_2|_inv)?|weight_packed|input_global_scale|weight_global_scale)[\w.]*)['\"]",
    ("_scale", "weight_packed"),
    "vllm model_executor/models/utils.py AutoWeightsLoader; vllm issues on NVFP4 checkpoints",
)
SHAPE = Message(
    "engine-quantised-shape",
    r"(?:AssertionError|size mismatch|shape mismatch|The size of tensor|cannot reshape|start \(\d+\) \+ length|"
    r"loaded_weight\.shape|param_data\.shape|weight_packed).{0,160}",
    (
        "AssertionError",
        "size mismatch",
        "shape mismatch",
        "The size of tensor",
        "loaded_weight",
        "param_data",
        "cannot reshape",
        ") + length",
        "weight_packed",
    ),
    "vllm model_executor/parameter.py:153 (PR 38832); weight_utils.py default_weight_loader",
)
NVFP4 = Message(
    "engine-nvfp4",
    r"nvfp4|modelopt_fp4|nvfp4-pack-quantized|W4A4.{0,10}FP4",
    ("nvfp4", "modelopt_fp4", "FP4"),
    "vllm model_executor/layers/quantization",
)
MARLIN_TILE = Message(
    "engine-marlin-tile",
    r"\bsize_n ?= ?(?P<size>\d{1,6}) is not divisible by tile_n_size",
    ("divisible by tile_n_size",),
    "vllm and sglang gptq_marlin_repack.cu",
)
IGNORE_LIST = Message(
    "engine-ignore-list",
    r"(?:\"?ignore\"?|exclude_modules|ignore list|ignored_layers|modules_to_not_convert)\b.{0,200}",
    ("ignore", "exclude_modules", "modules_to_not_convert"),
    "hf_quant_config.json and config.json of NVFP4 checkpoints",
)
GDN_LAYERS = Message(
    "engine-gdn-layers",
    r"linear_attn|in_proj_(?:qkvz|qkv|ba|z|b|a)\b|attn_output_gate|mtp\.fc|q_proj.{0,40}gate|\bfused_qkv\w{0,40}_proj",
    ("linear_attn", "in_proj_", "attn_output_gate", "mtp.fc", "fused_qkv"),
    "vllm model_executor/models/qwen3_next.py; sglang models/deepseek_v2.py",
)
GARBAGE = Message(
    "engine-garbage-output",
    r"\bgarbage\b(?![ -]?collect)|gibberish|nonsense|!{12,}|repeat(?:s|ing) the same token|incoherent|<unk>(?:<unk>){3,}",
    ("garbage", "gibberish", "nonsense", "!!!!!!!!!!!!", "the same token", "incoherent", "<unk><unk>"),
    "what people write about broken output",
)
KV_SCALES = Message(
    "engine-kv-scales",
    r"Using KV cache scaling factor 1\.0 for fp8|"
    r"No scaling factors? provided.{0,40}(?:KV cache|default)|using default.{0,20}scaling factor.{0,40}kv",
    ("scaling factor",),
    "vllm model_executor/layers/quantization/kv_cache.py (0.6 to 0.33); sglang weight loader",
)
KV_FP8_NOTE = Message(
    "engine-kv-fp8-note",
    r"Using fp8 data type to store kv cache.{0,160}accuracy drop without a proper scaling factor|"
    # The scale of queries, which is missed also where keys and values have theirs (quantization/kv_cache.py).
    r"Using uncalibrated q_scale 1\.0|Checkpoint does not provide a q scaling factor|Using Q scale 1\.0.{0,60}fp8",
    ("data type to store kv cache", "q_scale 1.0", "q scaling factor", "Q scale 1.0"),
    "vllm/config.py (0.4 to 0.11), quantization/kv_cache.py (0.6 to 0.33): printed whenever the KV cache is FP8",
)
WEIGHT_LOADING = Message(
    "engine-weight-loading",
    r"load_weights\b|weight_loader\b|loaded_weight\b|model_executor/parameter\.py|load_\w{2,40}_weight\b",
    ("load_weights", "weight_loader", "loaded_weight", "parameter.py", "_weight"),
    "vllm model_executor/parameter.py, models/*.py; sglang layers/parameter.py",
)
DRAFT_HEAD = Message(
    "engine-draft-head",
    r"\w{2,40}_mtp\.py|['\"]method['\"]\s*:\s*['\"]\w*mtp|\bmtp\.(?:fc|layers|norm)",
    ("mtp",),
    "vllm model_executor/models/qwen3_5_mtp.py; --speculative-config",
)
TOOL_PARSER = Message(
    "engine-tool-parser",
    r"Error (?:in extracting|trying to handle streaming) tool call(?:s)?(?: from response)?|tool[-_ ]?call[-_ ]?parser\W+(?P<parser>[\w.-]+).{0,80}(?:invalid|not found|does not|unknown|mismatch)|"
    r"(?:invalid|unknown) tool call parser|Tool parser .{0,60}(?:not|could not|failed)|"
    r"could not locate tool call (?:start|end)|Failed to parse tool call|"
    r"\"(?:auto\\?\"|tool_choice).{0,60}requires --enable-auto-tool-choice",
    ("tool call", "tool_call", "tool-call", "Tool parser", "enable-auto-tool-choice"),
    "vllm/tool_parsers/*.py; sglang function_call; vllm#38106, #56077",
)
EMPTY_ARGUMENTS = Message(
    "engine-empty-arguments",
    r"\"arguments\"\s*:\s*\"\{\}\"",
    ('"arguments"',),
    "OpenAI chat completion bodies; vllm#38106",
)
REQUIRED_ARGUMENTS = Message(
    "engine-required-arguments",
    r"\"required\"\s*:\s*(?:\[\s*(?:\"|$)|$)",
    ('"required"',),
    "the JSON schema of a tool that takes arguments",
)
RAW_TOOL_CALL = Message(
    "engine-raw-tool-call",
    r"\bcontent\\?['\"]?\s*[:=]\s*\\?['\"](?:.{0,400}(?P<form><tool_call>\W{0,12}<function=|<tool_call>\W{0,12}<arg_key>|<tool_call>|"
    r"<function=|<\|tool_calls?(?:_section_begin)?|\[TOOL_CALLS\]|<\|python_(?:start|tag)\|>|<｜tool▁calls▁begin｜>|"
    r"<minimax:tool_call>|<\|channel\|>commentary to=functions|<｜DSML｜)|"
    r"(?P<json>\s{0,4}(?P<fence>```(?:json)?(?:\W|\\n){0,6})?\{(?:\W|\\n){0,12}(?:type\W{1,10}function\W{1,10})?name\W{1,10}[\w.-]{1,80}(?:\W|\\n){1,12}(?:parameters|arguments)[^\w{]{1,10}\{))",
    (
        *("<tool_call>", "<function=", "<|tool_call", "[TOOL_CALLS]", "<|python_", "tool▁calls▁begin", ":tool_call>"),
        *("commentary to=functions", "｜DSML｜"),
        *("parameters", "arguments"),
    ),
    "OpenAI chat completion bodies in which the call stayed text",
)
TOOL_PARSER_FLAG = Message(
    "engine-tool-parser-flag",
    r"tool[-_]call[-_]parser['\"]?[\s=:,]{1,6}['\"]?(?!to\b|and\b|is\b|for\b|with\b|None\b)(?P<parser>[a-z][\w.-]{1,30})",
    ("tool-call-parser", "tool_call_parser"),
    "vllm and sglang arguments, as typed and as printed",
)
NO_MODEL = Message(
    "engine-no-model",
    r"Invalid repository ID or local directory specified|Repo id must be in the form|Cannot find any model weights with|"
    r"LocalEntryNotFoundError|Cannot find an appropriate cached snapshot folder|RepositoryNotFoundError|"
    r"Error while deserializing header|Unrecognized model in|Can't load (?:the )?(?:configuration|config|model|tokenizer) (?:of|for) '|"
    r"does not appear to have (?:a file|files) named \W{0,3}(?:config\.json|params\.json|model|pytorch_model)|"
    r"no file named .{0,160}found in directory|is not a local folder and is not a valid model identifier|"
    r"Weight files referenced in index but missing",
    (
        "Invalid repository ID",
        "Repo id must be",
        "Cannot find any model weights",
        "LocalEntryNotFoundError",
        "cached snapshot folder",
        "RepositoryNotFoundError",
        "Error while deserializing header",
        "Can't load ",
        "does not appear to have",
        "found in directory",
        "not a valid model identifier",
        "Unrecognized model in",
        "referenced in index but missing",
    ),
    "transformers 4.2x to 5 utils/hub.py and modeling_utils.py, safetensors bindings/python/src/lib.rs, and as vLLM 0.32 "
    "and SGLang 0.5.23 print them (run)",
)
HUB_UNREACHABLE = Message(
    "engine-hub-unreachable",
    r"We couldn't connect to '[^']{4,80}' to load|"
    r"(?:huggingface\.co|hf\.co|hf-mirror\.com|modelscope\.\w{2,3})\b.{0,400}(?:Name or service not known|"
    r"Temporary failure in name resolution|Failed to resolve|NameResolutionError|Network is unreachable|Connection refused|"
    r"No route to host|ConnectTimeout|connect timeout|(?<!Read )(?<!read )timed out)|"
    r"trying to locate the file on the Hub and we cannot find the requested files|"
    r"Connection error, and we cannot find the requested files|"
    r"\b50[0234] (?:Server Error|Internal Server Error|Bad Gateway|Service \w{1,20}|Gateway Time-?out)\b.{0,120}"
    r"(?:huggingface\.co|hf\.co|hf-mirror\.com|modelscope\.\w{2,3})\b|"
    r"(?P<offline>Cannot reach \S{0,300}(?<!whoami-v2): offline mode is enabled)",
    (
        *("We couldn't connect to '", "huggingface.co", "hf.co", "hf-mirror.com", "modelscope.", "requested files"),
        "offline mode is enabled",
    ),
    "transformers utils/hub.py; huggingface_hub file_download.py, utils/_http.py OfflineAdapter; requests and httpx "
    "around urllib3",
)
