// Made by tools/megatron_flags.py; not to be edited by hand. From NVIDIA/Megatron-LM d98e8a64d,
// core 0.20.0: 876 flags of its parser. The other groups have what it has not.
#include <array>

#include "report/trainers/lint/megatron_flags.h"

namespace penstock {
namespace {

constexpr std::array kGroups{
    MegatronFlagGroup{"its own scripts", R"(
add-skipping algorithm allow-checkpoint-without-temporal-compression allow-cross-sample-attention
allow-large-videos allow-missing-conv-merge-checkpoint allow-missing-sound-model-checkpoint
allow-missing-sound-projection-checkpoint allow-missing-vision-projection-checkpoint append-eod
apply-data-augment async-mode audio-encoder-model auto-quantize-bits auto-quantize-checkpoint
auto-quantize-formats auto-quantize-method auto-quantize-score-size basemodel-type batch-boundaries
benchmark-profile binary-mask bpe-kv-cache bpe-max-buffer bpe-params bpe-ssm-cache budget-list
budget-probs budget-type calib-batch-size calib-dataset calib-dataset-path-or-name
calib-max-sequence-length calib-size calib-use-random-offset class-token-len compress config-path
conv-merging coordinator-host coordinator-port coordinator-schedule-output-path curr-iteration
dataloader-save dataloader-seed dataloader-seq-length dataset-config dataset-provider
decoder-tp-comm-overlap disable-budget disable-qkv-quant disable-tqdm disable-vision-class-token
distill-coeff distill-only distillation draft-length draft-topk drain-between-batches
drop-vision-class-token dynamic-resolution dynamic-resolution-max-patches
dynamic-resolution-min-patches dynamic-resolution-min-side dynamic-resolution-no-truncate
eagle-config efficient-video-sampling-variant emb-int-list emb-per-list enable-fusions
enable-gpt-oss enable-router encoder-ddp-overlap encoder-dp encoder-prompts encoder-tp engine-type
eos-id export-default-te-spec export-dir export-extra-modules export-force-local-attention
export-kd-cfg export-kd-teacher-ckpt-format export-kd-teacher-load export-kd-teacher-model-config
export-kv-cache-quant export-legacy-megatron export-model-type export-moe-apply-probs-on-input
export-offline-model export-qk-l2-norm export-quant-cfg export-real-quant-cfg export-te-mcore-model
export-vllm-fq extra-model-path few-shots find-optimal-num-workers finetune-data-files
finetune-data-split finetune-hf-dataset flex-hetero-ffn flex-hetero-mamba flex-hetero-moe-expert
flex-strict flextron flextron-config-file force-emb force-mamba force-mlp force-router-skip
force-system-message fraction freeze-LM freeze-ViT freeze-base-for-mtp freeze-lm freeze-model
freeze-projection freeze-router freeze-sound-model freeze-sound-projection freeze-vision-projection
freeze-vit frontend-replicas generate-output-len genfile greedy ground-truth-path gt-path
hard-sample-th hf-assign-unused-tokens hf-model host image-break-token image-seq-length image-size
image-tag-type image-token-id incoming-requests-duration incoming-requests-per-sec
incoming-requests-per-step inference-ckpt-non-strict inference-repeat-n input input-image
input-image-path input-path input-prompts-json is-flex-eval json-keys keep-newlines
keep-sequential-samples lang language-model-checkpoint language-model-type layer-ranking-list
linear-scaler-end linear-scaler-start llm-cp llm-dp llm-ep llm-expt-tp llm-offset llm-only llm-pp
llm-tp loader-transformer-impl log-budgets log-model-act-norms log-model-grad-norms loss-alpha
lower-bound lr-data-range-end lr-data-range-start lr-mult-router mamba-int-list mamba-per-list
masked-tiling-dynamic-resolution match-tiling-dynamic-resolution max-batch-size max-documents
max-num-tiles mcore-model megatron-path mem-batch-size mem-infer-seq-len memory-profile
memory-profile-path metadata-path mimo-encoder-prefetch mimo-encoder-prefetch-debug
mimo-encoder-prefetch-depth mix-hidden-states mlp-int-list mlp-per-list mmlu-batch-size mmlu-dataset
mock-dataset-size model-provider modelopt-enabled moe-expert-int-list moe-expert-per-list
moe-routing-trace-max-inference-steps multimodal no-attn-skip no-calculate-per-token-loss
no-record-throughput normalize-router-logits num-benchmark-iterations num-benchmark-warmup
num-frames num-input-tokens num-partitions num-samples num-samples-per-partition
num-tokens-from-file num-tokens-to-generate num-tokens-to-prompt offline-distillation-data
online-evaluation-config only-keep-samples-with-img optimize-broadcast original-model-sample-prob
osl out-seq-length output-dir output-every-n-results output-path output-prefix output-request-events
override-selected-budget packing-buffer-size packing-knapsack-algorithm packing-seq-length
pad-length pad-token-id pad-vocab-size param-budget-target parsers partition-id partitions
pixel-shuffle port prefill-chunk-size prepare-cache-world-size pretrained-model-name
pretrained-model-path prompt-file prompt-file-num-truncate prompt-path prompts prompts-path
prune-export-config prune-intermediate-ckpt qad-train-target radio-cpe-aspect-ratio-select
radio-disable-cpe radio-force-cpe-eval-mode radio-force-eval-mode radio-interpolate-only-cpe recipe
recompute-granularity-vision recompute-method-vision recompute-sound recompute-sound-projection
recompute-vision recompute-vision-num-layers recompute-vision-projection references refit-mode
relax-sender-check relax-thinking-trace-check return-log-probs router-beta router-gbs
router-inter-dim router-std sample-input-file sample-output-file save-ground-truth-path
saver-transformer-impl separate-video-embedder skip-generate skip-num-attn-layer-constraint
skip-prompt-log-probs skip-total-layer-constraint slice soft-mask sound-batch-split
sound-clip-duration sound-embedding-size sound-min-duration sound-model-type
sound-pad-to-clip-duration sound-target-rate special-tokens split-sentences steps stop-words stream
suspend-resume-interval suspend-timeout sync-expert-weight-amax target-expert-parallel-size
target-pipeline-parallel-size target-tensor-parallel-size task tau-decay tau-init temperature
termination-id throughput-check-only thumbnail-area-threshold tokenizer-keep-history-thinking
tokenizer-prompt-format top-n-logprobs top_k top_p total-seq-length true-vocab-size unfreeze-router
use-area-weighted-aspect-ratio use-coordinator use-flashinfer-fused-rope use-loss-scaling
use-mcore-inference use-new-dataloader-path use-packed-sequence use-te use-thumbnail use-tile-tags
use-tiling use-vision-backbone-fp8-arch verbose video-aug-scale-frames-up
video-aug-scale-resolution-only video-aug-scale-resolution-up video-default-fps
video-frame-temporal-jitter video-maintain-aspect-ratio video-max-num-frames video-min-num-frames
video-prompt-version video-target-img-size video-target-num-patches video-temporal-patch-size
vision-model-type vision-projection-type vit-dummy-head-count weight-only workers workers-to-check
)"},
    MegatronFlagGroup{"older Megatron-LM", R"(
DDP-impl activations-checkpoint-method activations-checkpoint-num-layers checkpoint-num-layers
data-impl delay-param-gather disable-chunked-prefill distribute-checkpointed-activations
embedding-weights-in-fp32 enable-one-logger encoder-pipeline-model-parallel-size
encoder-tensor-model-parallel-size faiss-use-gpu fp32-allreduce fp8-e4m3 fp8-hybrid
grpo-default-temperature grpo-default-top-p hybrid-attention-ratio hybrid-mlp-ratio img-dim
inference-dynamic-batching-buffer-guaranteed-fraction
inference-dynamic-batching-buffer-overflow-factor inference-dynamic-batching-chunk-size
inference-dynamic-batching-cuda-graph-max-tokens inference-dynamic-batching-max-requests-override
inference-dynamic-batching-max-tokens-override inference-max-batch-size
keep-fp8-transpose-cache-when-using-custom-fsdp kitchen-config-file kitchen-recipe-number
langrl-external-server langrl-inference-server-conversation-template langrl-inference-server-type
layernorm-epsilon legacy-tokenizer load-model-opt-format log-batch-size-to-tensorboard min-scale
mmap-warmup moe-extended-tp moe-token-dropping moe-use-legacy-grouped-gemm muon-use-nesterov
no-async-tensor-model-parallel-allreduce no-contiguous-buffers-in-local-ddp no-delay-grad-reduce
no-log-learnig-rate-to-tensorboard no-query-key-layer-scaling no-scaled-masked-softmax-fusion
no-scatter-gather-tensors-in-pipeline one-logger-entity overlap-p2p-communication
override-lr-scheduler pipeline-model-parallel-split-rank renormalize-blend-weights
report-topk-accuracies retriever-seq-length retro-add-retriever retro-attention-gate
retro-cyclic-train-iters retro-encoder-attention-dropout retro-encoder-hidden-dropout
retro-encoder-layers retro-no-verify-neighbor-count retro-num-neighbors retro-num-retrieved-chunks
retro-project-dir retro-return-doc-ids retro-workdir rl-calculate-intra-group-similarity
rl-generation-batch-size rl-num-parallel-generation-batches rl-num-parallel-generations
rl-offload-kv-cache-during-training rl-parallel-generation-tasks rl-remove-kv-cache-during-training
rl-reset-cuda-graphs rl-sequence-packing-bin-size s3-cache-path
scaled-upper-triang-masked-softmax-fusion standalone-embedding-stage tiktoken-special-tokens
tokenizer-hf-include-special-tokens tokenizer-hf-use-fast use-checkpoint-lr-scheduler
use-contiguous-buffers-in-ddp use-custom-fsdp use-legacy-models
)"},
    MegatronFlagGroup{"Megatron-DeepSpeed", R"(
adaptive_seq_len aml-data-download-path analyzer analyzing-data-type analyzing-metric
analyzing-num-threads analyzing-num-threads-reduce analyzing-num-workers analyzing-specific-threads
analyzing-task analyzing-worker-id answer-file api-prompt calc-threshold checkpoint-in-cpu
context-tokens contigious-checkpointing count cpu-optimizer cpu_torch_adam create-moe-param-group
csv_dir csv_name data data-efficiency-curriculum-learning data-path2 data_type dataset-impl
dedup-dataset deepspeed-activation-checkpointing disable-mem-efficient-ln disable-moe-token-dropping
disable-moe-top2-2nd-expert-sampling ds-inference ds-sequence-parallel-fpdt
ds-sequence-parallel-fpdt-chunk-size ds-sequence-parallel-fpdt-offloading ds-sequence-parallel-size
ds_fused_adam enable-expert-tensor-parallelism enable-zbh1-exact-semantics enable-zbh1-pipeline
epochs eval eval-ppl eval_fp32 expert-interval faiss-match faiss-topk-retrievals
filter-text-char-len folder for_release force-ds-sequence-parallel func guess-file heuristic-iter
hf-ckpt-dir hf-ckpt-num-shards hidden-size-teacher id-prefix inference input-file input-files
input_folder inputs jaccard jaccard-parallel json_path kd kd-alpha-ce kd-beta-ce kd-temp keep-last
key-threshold kill-switch-file knwl_gen_file knwl_ref_file labels lambada-path load-dictionary
load-dir load-fingerprints load-mode load-tag load-teacher loader
log-optimizer-states-to-tensorboard lr-decay-tokens lr-warmup-tokens masked-lm-prob max-ngram-size
max-num-samples max-queue-size max-tokens megatron-api-url memory-centric-tiled-linear
min-ngram-size mlp-type model-type model_file moe-eval-capacity-factor moe-expert-parallel-size
moe-loss-coeff moe-min-capacity moe-train-capacity-factor mos no-checking no-load-lr-state
no-pipeline-parallel num-attention-heads-teacher num-bands num-experts-switch num-experts-teacher
num-key-value-heads num-layers-teacher num-prompt-examples num-seeds num-threads num_fewshot
one-threshold out-path outdir output output-file output_file output_folder overlapping-eval
partition-activations paths plot_name plot_only plot_title plot_x_label plot_y_label prediction-name
pretrained-checkpoint-type processed_file profile-backward profile_steps prompt-type qa-data-dev
qa-data-test random-ltd raw_file recompute remote-device remove-char-each-side repeated-dataloader
reset-iteration resp_ref_file results_path retro-bert-batch-size retro-bert-max-chunk-length
retro-bert-tokenizer-type retro-bert-vocab-file retro-block-size retro-doc-block-size
retro-gpt-chunk-length retro-gpt-data-impl retro-gpt-data-path retro-gpt-eval-interval
retro-gpt-eval-iters retro-gpt-global-batch-size retro-gpt-merge-file retro-gpt-mmap-warmup
retro-gpt-seed retro-gpt-seq-length retro-gpt-split retro-gpt-tokenizer-model
retro-gpt-tokenizer-type retro-gpt-vocab-file retro-index-add-load-fraction retro-index-nfeats
retro-index-no-delete-added-codes retro-index-no-delete-training-embeddings retro-index-ntrain
retro-index-str retro-index-train-load-fraction retro-index-type retro-query-ef-search
retro-query-nprobe retro-query-num-neighbors-query retro-query-num-neighbors-save retro-tasks
return-data-index rotary-position-embeddings-theta save-dictionary save-dir save-fingerprints saver
scattered-embeddings seg-stride skip_csv skip_plot split-transformers splits-count stored_params
strict-lambada synchronize-each-layer target_pp target_tp task_list tasks tb_dir tb_event_key
test_file threshold tile-factor to-hf-ckpt topk total train-data train-data-exact-num-epochs
train-desc-path train-doc-idx-path train-hard-neg train-idx-path train-sample-idx-path
train-shuffle-idx-path train-tokens train-with-neg train_file universal-checkpoint use-dataset-only
use-flash-attn-builder use-flash-attn-triton use-flash-attn-v1 use-flash-attn-v2 use-pin-memory
use-tutel use_sns val-av-rank-hard-neg val-av-rank-other-neg valid-data zero-allgather-bucket-size
zero-contigious-gradients zero-reduce-bucket-size zero-reduce-scatter zero-stage
)"},
    MegatronFlagGroup{"Megatron-DeepSpeed (BigScience)", R"(
abort-on-unmet-fused-kernel-constraints adaptive_seq_len all-tokens bootstrap_iters calc-threshold
checkpoint-in-cpu codecarbon-dir columns contigious-checkpointing count cpu-optimizer cpu_torch_adam
data dataset-impl datasets dedup-dataset deepspeed-activation-checkpointing dir embed-layernorm
epochs eval eval-only eval_fp32 faiss-match faiss-topk-retrievals filter-text-char-len folder
for_release glu-activation heuristic-iter id-prefix inference input-file input-files input_folder
inputs intermed_results jaccard jaccard-parallel json_path keep-last key-threshold kill-switch-path
labels lambada-path load-dictionary load-fingerprints log-level log-level-replica log-path
loss-on-targets-only lr-decay-tokens masked-lm-prob max-ngram-size max-num-samples
mean-noise-span-length memory-centric-tiled-linear merge micro_bs_multiplier min-ngram-size
model-type noise-density num-bands num-seeds num-threads num_extract_workers num_merge_workers
one-threshold outdir output output-file output_file output_folder overlapping-eval pad-vocab-size-to
partition-activations paths pp-partition-method prediction-name print-text print-tokens
profile-backward qa-data-dev qa-data-test recompute remote-device remove-char-each-side results_path
reweight-loss-based-on-position-frequency sample-id-range save-dictionary save-fingerprints
scattered-embeddings scratch shuffle skip-train-iteration-range split-transformers splits-count
strict-lambada sync-tp-duplicated-parameters synchronize-each-layer
target-pipeline-model-parallel-size target_dp target_pp target_tp task_list tasks
test-weighted-split-paths test-weighted-split-paths-path threshold tile-factor
tokenizer-name-or-path torch-backend train-data train-tokens train-weighted-split-paths
train-weighted-split-paths-path universal-checkpoint use-bnb-optimizer use-pin-memory valid-data
valid-num-workers valid-weighted-split-paths valid-weighted-split-paths-path
zero-allgather-bucket-size zero-contigious-gradients zero-reduce-bucket-size zero-reduce-scatter
zero-stage
)"},
    MegatronFlagGroup{"Pai-Megatron-Patch", R"(
adaptive-seq-len attention-head-type auto-model check-alignment check-only checkpoint clip-ckpt-path
config-file convert-checkpoint-from-megatron-to-transformers
convert_checkpoint_from_megatron_to_transformers cpu-offloading cuda-visible-devices
cvcuda-image-processing data-dir dataset dataset-impl dataset-root debug disable-bias-attn-fc
disable-bias-linear-fc disable-parallel-output dryrun embed-layernorm enable-gradient-checkpointing
enable-shared-expert epochs eval-dev eval-fp32 expert-interval extra-vocab-size extra_num_vocabs
flash for_release freeze-clip-vision-tower freeze-llm ftfy generation-length glu-activation
gradient-accumulation-steps hf-ckpt-path hf-dir huggingface_model_path image-aspect-ratio
image-folder input-dir input-file input-fp8-hf-path input-key input-len input_dir input_folder
intermediate-size json jsonl-keys keep-last load-dir load-path load_path local_dir logging-dir
max-padding-length max-samples-per-tar max-shard-size max_shard_size mcore2hf mm-projector-type
mm-use-im-patch-token mm-use-im-start-end mm-vision-select-layer model model-path model-size
model-type model_name moe moe-eval-capacity-factor moe-expert-parallel-size
moe-input-feature-slicing moe-loss-coeff moe-min-capacity moe-topk moe-train-capacity-factor
n-head-kv naive-check no-rotary-embed-copy num-docs num-fewshot num-hf-saver num-processes
num-shared-experts num-splits num_expert_split_size optimizer-offload-auto-threshold
optimizer-offload-chunk-size optimizer-offload-policy output-bf16-hf-path output-file output-json
output-max-tokens output_folder patch-tokenizer-type position-encoding-2d pretrain-script
print-checkpoint-structure qk-nope-head-dim qk-rope-head-dim repetition-penalty repetition_penalty
rotary-scale-factor router-type save-dir save-path save-safetensors save_path sequence-packing
shared-moe-ffn-hidden-size skip-extraction sliding-window source-seq-len synchronizer
target-ckpt-format target-decoder-first-pipeline-num-layers target-decoder-last-pipeline-num-layers
target-expert-model-parallel-size target-expert-tensor-parallel-size target-key
target-num-layers-per-virtual-pipeline-stage target-params-dtype target-pipeline-model-parallel-size
target-seq-len target-tensor-model-parallel-size target_data_parallel_size
target_expert_model_parallel_size target_params_dtype target_pipeline_model_parallel_size target_pp
target_tensor_model_parallel_size target_tp task-list tensor-parallel-size test-split
text-generate-gt-file text-generate-input-file text-generate-output-file time time-interval
tokenizer_name top-k top-p train-data train-mode train-split transformer-timers transformer-type
tune-mm-mlp-adapter use-alibi-mask use-gpu use-llama2-rotary-position-embeddings
use-mistral-rotary-position-embeddings use-normhead use-tutel val-split valid-data verbosity version
video-token vision-tower world-size world_size z-loss-weight
)"},
    MegatronFlagGroup{"ROCm's Megatron-LM", R"(
adaptor add_offset_doc_ids add_retriever answer-file answer-loss-only api-prompt
bert-retriever-neighbours calc-threshold checkpoint-type chunk0 cyclic-train-iters d-model
data-folder data-path2 data_type database_path debug debug-gen decoder dedup-dataset disable-encoder
disable-te-fused-rope download-root dpr-mode encoder-attention-dropout encoder-hidden-dropout
encoder-layers engine-dir epochs epsilon eval eval-ppl eval_ppl faiss-ckpt faiss-match
faiss-topk-retrievals filter-text-char-len ft_neighbours func gen-start-idx groundtruth-path
guess-file heuristic-iter id-prefix inference-tensor-parallel input-file input-files input-texts
inputs jaccard jaccard-parallel json_path k keep-last key-threshold knwl_gen_file knwl_ref_file
labels lambada-path length-penalty load-dictionary load-dir load-fingerprints loader longform-answer
m mamba-d-state mamba-version mamba2-head-dim mamba2-n-groups max-ngram-size max-queue-size
megatron-api-url min-ngram-size model-path model-size model-type model_file neighbors_path
no-checking num-bands num-gen num-prompt-examples num-seeds num-threads offset_dict_path
one-threshold original-db-file out-path outdir output output-file output_file overlapping-eval paths
prediction-name prefix prefixes pretrained-checkpoint-type processed_file project-size prompt
prompt-format prompt-type qa-data-dev qa-data-test qa-space-pad question-in-encoder r raw_file
recompute remove-char-each-side reset-iterations reset_eval resp_ref_file retro-mask-encoder
return_doc_ids return_neighbor_ids reuse-top save-dictionary save-dir save-fingerprints saver
seg-stride short-format shuffle_topn splits-count stored_params strict-lambada target-pp-size
target-tp-size tasks template-id tensor-parallel-size test_file threshold tokenizer total train-data
train-hard-neg train-with-neg train_file use-retrieved-neighbours val-av-rank-hard-neg
val-av-rank-other-neg valid-data valid_database_path valid_neighbors_path weight without-title
)"},
    MegatronFlagGroup{"the zero-bubble fork", R"(
adaptor add_offset_doc_ids add_retriever allow-padding-num-layers answer-file answer-loss-only
api-prompt artifact_links auto-offload-time bert-retriever-neighbours calc-threshold checkpoint-type
chunk0 cpu-offload cyclic-train-iters d-model data-folder data-path2 data_type database_path debug
debug-gen decoder dedup-dataset disable-encoder download-root download_scripts_dir dpr-mode
enable-1f1b-v enable-exactly-numeric-match enable-optimizer-post-validation enable-zb-runtime
enable-zero-bubble enable_comm encoder-attention-dropout encoder-hidden-dropout encoder-layers
engine-dir epochs epsilon eval eval-ppl eval_ppl faiss-ckpt faiss-match faiss-topk-retrievals
filter-text-char-len format ft_neighbours func gen-start-idx graph_width groundtruth-path guess-file
heuristic-iter id-prefix img-embedding-idx include_communication inference-tensor-parallel
input-file input-files input-metadata-path input-texts input_json inputs interleave-group-size
iteration jaccard jaccard-parallel json_path k keep-last key-threshold knwl_gen_file knwl_ref_file
labels lambada-path length-penalty load-dictionary load-dir load-fingerprints loader longform-answer
m mamba-d-state mamba-version mamba2-head-dim mamba2-n-groups max-beam-width max-input-len
max-ngram-size max-output-len max-queue-size measure-activation-memory megatron-api-url
min-ngram-size model-size model-type model_file neighbors_path no-checking no-paired-barrier
no-pre-communication-optimization num-bands num-gen num-prompt-examples num-seeds num-seq-splits
num-threads nvtx_sqlite_dir offload-chunk-num offload-continuous-buffers offload-overlap-sr
offload-time offset_dict_path one-threshold original-db-file out-path outdir output output-file
output_file output_json output_svg overlapping-eval paths plot_all plot_microbatch plot_type
prediction-name prefix prefixes pretrained-checkpoint-type processed_file profile-memory-iter
profiler-output project-size prompt-type qa-data-dev qa-data-test qa-space-pad question-in-encoder
question-path r raw_file recompute recompute-lgd remove-char-each-side reset-iterations reset_eval
resp_ref_file retro-mask-encoder return_doc_ids return_neighbor_ids reuse-top save-dictionary
save-dir save-fingerprints save_dir saver sbatch-dataset-path sbatch-megatronlm-path seg-stride
short-format shuffle_topn splits-count stored_params strict-lambada target-pp-size target-tp-size
tasks template-id tensor-parallel-size tensorrt-llm-checkpoint-dir test_file threshold tokenizer
total train-data train-hard-neg train-with-neg train_file use-retrieved-neighbours
use-te-layernorm-linear val-av-rank-hard-neg val-av-rank-other-neg valid-data valid-path
valid_database_path valid_neighbors_path weight without-title
zero-bubble-adaptive-memory-limit-percentile zero-bubble-max-pending-backward
zero-bubble-pipeline-timers-end-iter zero-bubble-pipeline-timers-start-iter zero-bubble-v-schedule
zero-bubble-v-schedule-mem-setup
)"},
    MegatronFlagGroup{"slime", R"(
action activities actor-num-gpus-per-node actor-num-nodes add-missing-from-origin-hf
advantage-estimator all-ranks allgather-cp apply-chat-template apply-chat-template-kwargs
balance-by-flops balance-data block-size buffer-filter-path check-same check-weight-update-equal
checkpoint-dir chunk-size ci-disable-kl-checker ci-load-grad-norm ci-save-grad-norm ci-test
ci-train-rollout-logprob-abs-diff-threshold colocate corpus_path count
custom-advantage-function-path custom-convert-samples-to-train-data-path
custom-eval-rollout-log-function-path custom-generate-function-path custom-loss-function-path
custom-megatron-before-log-prob-hook-path custom-megatron-before-train-step-hook-path
custom-megatron-init-path custom-model-provider-path custom-pg-loss-reducer-function-path
custom-reward-post-process-path custom-rm-path custom-rollout-log-function-path
custom-tis-function-path custom-update-weight-post-write-path dampening-frac data-dir
data-pad-size-multiplier data-source-path debug-rollout-only debug-train-only devices
disable-compute-advantages-and-returns disable-grpo-std-normalization disable-rewards-normalization
disable-rollout-global-dataset disable-wandb-random-suffix dump-details dynamic-sampling-filter-path
enable-mtp-training entropy-coef eps-clip eps-clip-c eps-clip-high eval-config eval-function-path
eval-input-key eval-label-key eval-max-context-len eval-max-prompt-len eval-max-response-len
eval-min-new-tokens eval-prompt-data eval-reward-key eval-temperature eval-tool-key eval-top-k
eval-top-p faiss_gpu fetch-trajectory-retry-times files force freeze-params-name-list gamma
get-mismatch-metrics group-rm group-size hf-checkpoint http-proxy ignore-rules index_path input-dir
input-fp8-hf-path input-key is-symmetric keep-old-actor kl-coef kl-loss-coef kl-loss-type label-key
lambd layers load-debug-rollout-data load-debug-rollout-data-subsample load-forge-rollout-data
load-max-workers load-optimizer local_dir lock-path-pattern log-correct-samples log-multi-turn
log-passrate log-probs-chunk-size log-probs-max-tokens-per-gpu log-reward-category loss-mask-type
loss-type mask-offpolicy-in-partial-rollout max-hidden-diff max-sequence-length max-tokens-per-gpu
max-workers megatron-config-path megatron-deepgemm-forward-layers megatron-deepgemm-forward-modules
megatron-deepgemm-moe-forward-layers megatron-deepgemm-moe-forward-modules megatron-dir
megatron-server-max-length megatron-server-update-timeout-s megatron-server-warmup memory-recorder
memory-snapshot-dir memory-snapshot-num-steps metadata-key min-batch-collection-ratio model-dir
model-name multimodal-keys n-samples-per-eval-prompt n-samples-per-prompt normalize-advantages
num-calibration-samples num-critic-only-steps num-epoch num-gpus-per-node num-rollout num-steps
num-steps-per-rollout num-threads offload offload-rollout offload-train only-train-params-name-list
opd-kl-coef opd-teacher-ckpt-step opd-teacher-load opd-type opsm-delta origin-hf-dir
output-bf16-hf-path output-json over-sampling-batch-size overwrite partial-rollout
prefill-num-servers print-only profile-by-stage profile-dir profile-target prompt-data
quant-group-size quant-type qwen-gdn-backend rank rebuild recompute-loss-function ref-ckpt-step
ref-load ref-update-interval release-train repo_id reset-optimizer-states retriever_model
retriever_name reward-key rm-type rm-url rollout-all-samples-process-path rollout-batch-size
rollout-buffer-url rollout-data-postprocess-path rollout-data-transport
rollout-external-engine-addrs rollout-function-path rollout-health-check-first-wait
rollout-health-check-interval rollout-health-check-timeout rollout-max-context-len
rollout-max-prompt-len rollout-max-response-len rollout-num-gpus rollout-num-gpus-per-engine
rollout-sample-filter-path rollout-sample-hook-path rollout-seed rollout-shuffle
rollout-skip-special-tokens rollout-stop rollout-stop-token-ids rollout-task-type
rollout-temperature rollout-top-k rollout-top-p router-url save-debug-rollout-data
save-debug-train-data save-dir save-hf save-max-workers save-optimizer save_path scale-fmt serve
sglang-config sglang-dir sglang-pipeline-parallel-size sglang-pp-size sglang-router-ip
sglang-router-port sglang-router-request-timeout-secs sglang-server-concurrency
skip-eval-before-train start-rollout-id strategy target-env-name tb-experiment-name tb-project-name
teacher-label-reduction-chunk-size teacher-port teacher-sample-reduction-chunk-size
teacher-warmup-port teacher-warmup-timeout-s timeout tis-clip tis-clip-low tool-key top-n topk
total-gpus train-backend train-env-vars update-weight-buffer-size update-weight-delta-checksum
update-weight-delta-encoding update-weight-disk-dir update-weight-disk-keep-files
update-weight-local-checkpoint-dir update-weight-mode update-weight-transport
update-weights-interval use-distributed-post use-dynamic-batch-size use-fault-tolerance use-kl-loss
use-opd use-opsm use-rollout-entropy use-rollout-logprobs use-rollout-routing-replay
use-routing-replay use-stateless-adam use-tensorboard use-tis use-unbiased-kl use-wandb value-clip
wandb-always-use-train-step wandb-dir wandb-group wandb-host wandb-key wandb-mode wandb-run-id
wandb-team with-stack
)"},
    MegatronFlagGroup{"Primus", R"(
K M N agent-only aggregate-repeat allgather-report-csv-path allow-foreign-procs
allow-padding-num-layers allowed-procs allowlist allreduce-report-csv-path api-url append arg1
auto-offload-time backend backend_path benchmark-gpus benchmark-log-dir bottom-mlp bridge-parquet
center-crop chart-path check check-gpu check-host check-network checkpoint checkpoint-path ckpt-dir
clip-path clip_model clock-skew-warn-sec cluster comm-cleanup-delay-sec comm-sizes-mb compare-atol
compare-layer-isolated compare-layerwise compute-baseline config cpus-per-task cr csv data_dir
dataset debug dense-input-dim device disable-pdf dist-timeout-sec distcp-dir dmesg-minutes dry-run
dtype dump-path dump-shape-path-or-file duration embedding-dim embedding-gb embedding-param-bytes
enable-1f1b-v enable-deepep enable-exactly-numeric-match enable-optimizer-post-validation
enable-zb-runtime enable-zero-bubble encoding exp expected-gpus expected-nodelist-file
expected-nodes expected-rdma-nics export_config fill-factor fla-config fla-dir fusion-stats ga
gemm-backend gemm-tflops-min gpu gpu-activity-warn-pct gpu-arch gpu-clock-mhz gpus gpus-per-node
hardware-config hbm-busy-threshold-gib hbm-fraction hbm-gbs-min head-dim hf-data-files hf-dataset
hf-dir hf-dtype hf-split hf-token-file hybrid-pattern image-format image-quality input-dir
instruction-col inter-comm-sizes-mb inter-group-sizes interleave-group-size intermediate-size
intra-comm-sizes-mb intra-group-sizes iters jax layerwise-token limit load-benchmark log-dir
log_file max-bytes max-concurrent-trials max-files max-new-tokens max-prompt-tokens max-samples
max-seq-len max-size max-workers mbs mbs-list memory-mode memory-safety-margin merged-trace-file
min-bytes min-seconds mode model model-path model_path models module_name moe-intermediate-size
n-routed-experts n-shared-experts name name-fla name-primus native-cache network nnodes no-agent
no-clean-dump-path no-finalize no-pre-communication-optimization no-remove-outputs
no-split-nodes-subgroup no-te nodelist num-devices num-experts-per-tok num-heads num-joint-layers
num-key-value-heads num-nodes num-single-layers num-sizes num-tables num_fewshot offload-chunk-num
offload-overlap-sr offload-time op out out-dir output output-file output_dir output_path over-mlp
overwrite package parallel partition patch_args path per-gpu-timeout-sec per-iter-trace per-rank
per-rank-file perf-test pipeline-schedule-algorithm plot pooling-factor position-ids-mode precision
prefetch-depth preflight-env primus-dir primus-log-dir primus-path primus_path profile-memory-iter
profile-only profile-trace-path profiling-mode prompt qk-dim qk-nope-head-dim qk-rope-head-dim quick
rccl-gbs-min rccl-size-mb rccl-timeout-sec rdma-nic-allowlist reducescatter-report-csv-path
releases-json repeat repo repo-root report-csv-path report-file-name reports-result-path
require-tools requires-python response-col resume ring-p2p-sizes-mb rocm-smi-timeout-sec
rocm-smi-warn-sec runner runtime-gather-output sample-size save-benchmark save-logits save-profiling
scale scancel-user-on-hang seed-budget seed-only seq seqlen sequence-length shapes-json-path
shard-size shm-min-gb show-allowlist sizes sizes-mb skip-dmesg skip-models slurm-time source-type
stride sync-free-stage t5-max-length t5-path t5_max_length t5_model target-cluster target-ep-size
target-nodes target-num-nodes tasks test_size tests tier2-perf timeout title token tokenizer
tokenizer-src top-p topk topology torch-profiler torch-profiler-all-ranks torch-profiler-dir
torch-profiler-memory torch-profiler-record-shapes torch-profiler-with-stack tp trace trace-file
trace-limit trace-ops trace-sizes train-split trans_a trans_b trial-timeout-sec tune-result-path
ulimit-l-min-gb user v-dim vae-latent-mode vae-path variable-size variant wait-timeout-sec warn-only
window-left workload yaml-config-path zero-bubble-adaptive-memory-limit-percentile
zero-bubble-max-pending-backward zero-bubble-pipeline-timers-end-iter
zero-bubble-pipeline-timers-start-iter zero-bubble-v-schedule zero-bubble-v-schedule-mem-setup
)"},
};

}  // namespace

std::string_view megatron_flag_names() {
  return R"(
account-for-embedding-in-pipeline-split account-for-loss-in-pipeline-split
accumulate-allreduce-grads-in-fp32 activation-func-clamp-value activation-offload-fraction
adam-beta1 adam-beta2 adam-eps add-qkv-bias adlr-autoresume adlr-autoresume-interval
allow-ambiguous-pad-tokens app-tag-run-name app-tag-run-version apply-layernorm-1p
apply-query-key-layer-scaling apply-residual-connection-post-layernorm apply-wd-to-qk-layernorm
async-ckpt-cpu-priority async-ckpt-io-priority async-ckpt-use-cpu-shm async-save async-strategy
attention-backend attention-dropout attention-output-gate attention-softmax-in-fp32
auto-detect-ckpt-format batch-invariant-backend batch-invariant-mode batch-size bert-embedder-type
bert-load bert-no-binary-head bf16 biencoder-projection-dim biencoder-shared-query-context-model
block-data-path cache-mla-latents calc-ft-timeouts calculate-per-token-loss chat-template
check-for-large-grads check-for-spiky-loss check-weight-hash-across-dp-replicas-interval
checkpoint-activations ckpt-assume-constant-structure ckpt-convert-format ckpt-convert-save
ckpt-convert-update-legacy-dist-opt-format ckpt-drop-redundant-extra-state ckpt-format
ckpt-fully-parallel-load ckpt-fully-parallel-load-exchange-algo
ckpt-fully-parallel-load-per-rank-objects ckpt-fully-parallel-load-process-group
ckpt-fully-parallel-save ckpt-fully-parallel-save-process-group ckpt-pg-tensors-cache-create
ckpt-pg-tensors-cache-path ckpt-step classes-fraction clip-grad config-logger-dir
context-parallel-size cp-comm-type cpu-offloading-num-layers
cpu-offloading-retain-pinned-cpu-buffers create-all-gather-group cross-entropy-fusion-impl
cross-entropy-loss-fusion cuda-graph-impl cuda-graph-modules cuda-graph-scope
cuda-graph-warmup-steps data-args-path data-cache-path data-parallel-random-init
data-parallel-sharding-strategy data-path data-per-class-fraction dataloader-defer-npy-index-mmap
dataloader-fast-cache-load dataloader-inter-document-masking dataloader-type
ddp-average-in-collective ddp-bucket-size ddp-num-buckets ddp-pad-buckets-for-high-nccl-busbw
ddp-param-name-patterns-for-fp32-local-accumulation ddp-reduce-scatter-with-fp32-accumulation
decode-only-cuda-graphs decoder-first-pipeline-num-layers decoder-last-pipeline-num-layers
decoder-num-layers decoder-seq-length decoupled-lr decoupled-min-lr decrease-batch-size-if-needed
defer-embedding-wgrad-compute delay-offload-until-cuda-graph delay-wgrad-compute
delta-offload-bytes-across-pp-ranks deterministic-mode dino-bottleneck-size dino-freeze-last-layer
dino-head-hidden-size dino-local-crops-number dino-local-img-size dino-norm-last-layer
dino-teacher-temp dino-warmup-teacher-temp dino-warmup-teacher-temp-epochs disable-align-grad-reduce
disable-bf16-reduced-precision-matmul disable-bias-linear
disable-ckpt-load-validate-sharding-integrity disable-clone-scatter-output-in-embedding
disable-dsa-indexer-rotate-activation disable-dsa-indexer-scoring-relu
disable-flight-recorder-dump-on-timeout disable-flight-recorder-extra-dump-on-exec
disable-flight-recorder-include-only-active disable-fp8-wgrad disable-gloo-process-groups
disable-jit-fuser disable-log-loss-scale-to-tensorboard disable-mamba-mem-eff-path
disable-manual-gc-eval disable-msc disable-pad-vocab-size disable-save-tokenizer-assets
disable-straggler-on-startup disable-strict-fsdp-dtensor-load disable-symmetric-registration
disable-tokenizer-sentencepiece-ignore-extra-whitespaces disable-tp-comm-bulk-dgrad
disable-tp-comm-bulk-wgrad disable-tp-comm-overlap-ag disable-tp-comm-overlap-rs
disable-tp-comm-split-ag disable-tp-comm-split-rs disable-use-tokenizer-model-from-checkpoint-args
dist-ckpt-format dist-ckpt-optim-fully-reshardable dist-ckpt-save-pre-mcore-014 dist-ckpt-strictness
dist-ckpt-workers distrib-optim-fully-reshardable-mem-efficient distribute-saved-activations
distributed-backend distributed-timeout-minutes distributed-timeout-seconds-after-init
dsa-indexer-head-dim dsa-indexer-k-norm-epsilon dsa-indexer-k-norm-fp32 dsa-indexer-loss-coeff
dsa-indexer-n-heads dsa-indexer-rope-interleaved dsa-indexer-skip-topk-offset dsa-indexer-topk
dsa-indexer-topk-freq dsa-indexer-use-sparse-loss dsa-kernel-backend dump-param-to-param-group-map
embedding-init-method-std embedding-path empty-unused-memory-level enable-chunked-prefill
enable-cuda-graph enable-experimental enable-ft-package enable-full-sharding-in-hsdp
enable-mhc-connections enable-msc encoder-num-layers encoder-seq-length end-weight-decay
eod-mask-loss ep-overlap-early-attn-memory-release error-injection-rate error-injection-type
eval-global-batch-size eval-interval eval-iters eval-micro-batch-size evidence-data-path
exit-duration-in-mins exit-interval exit-on-missing-checkpoint exit-signal exit-signal-handler
exit-signal-handler-for-dataloader exit-signal-handler-for-training exp-avg-dtype exp-avg-sq-dtype
experimental-attention-variant expert-model-parallel-size expert-tensor-parallel-num-weight-shards
expert-tensor-parallel-size external-cuda-graph fake-process-group
fault-injector-delay-start-iteration fault-injector-fault-delay fault-injector-fault-probabilities
fault-injector-fault-types fault-injector-mtti-seconds fault-injector-num-ranks
fault-injector-offset-seconds fault-injector-ranks fault-injector-seed ffn-hidden-size fim-data
fim-eod-token fim-fragment-rate fim-middle-token fim-no-prefix fim-pad-token fim-prefix-token
fim-rate fim-split-sample fim-spm-rate fim-suffix-token fine-grained-activation-offloading
fine-grained-offloading-max-inflight-offloads finetune first-last-layers-bf16
flash-attention-version flash-decode flight-recorder-dump-path flight-recorder-include-stack-trace
flight-recorder-trace-buffer-size fp16 fp16-lm-cross-entropy fp32-residual-connection fp4-format
fp4-param-gather fp4-quantizer-factory fp4-recipe fp8-amax-compute-algo fp8-amax-history-len
fp8-format fp8-interval fp8-margin fp8-output-proj fp8-param-gather fp8-quantizer-factory fp8-recipe
freeze-all-layers fsdp-db-use-persist-buf-on-alloc-fail fsdp-double-buffer fsdp-manual-registration
ft-num-warmup-iters full-validation fused-residual-rmsnorm gdp-cutedsl-kernel
gdp-num-chunk-states-to-recompute gdp-num-householder global-batch-size glu-linear-offset
gpu-sniff-test-interval grad-reduce-in-bf16 group-query-attention grpo-clamp-eps-lower
grpo-clamp-eps-upper grpo-entropy-term-weight grpo-filter-groups-with-same-reward grpo-group-size
grpo-iterations grpo-kl-beta grpo-prompts-per-step gtp-expert-remat-nccl-ub gtp-remat-nccl-ub
gtp-remat-opt-in-modules gtp-remat-reduce-scatter-with-fp32-accumulation head-lr-mult
heterogeneous-layers-config-encoded-json heterogeneous-layers-config-path hidden-dropout hidden-size
hierarchical-context-parallel-sizes high-priority-a2a-comm-stream high-priority-stream-groups
hybrid-context-parallel hybrid-layer-pattern hybrid-override-pattern hysteresis ict-head-size
ict-load img-h img-w indexer-batch-size indexer-log-interval inference-batch-times-seqlen-threshold
inference-coordinator-port inference-cuda-graph-all-prefills inference-cuda-graph-max-tokens
inference-cuda-graph-scope inference-disable-ep-consensus inference-disable-triton-nvls-kernels
inference-dynamic-batching inference-dynamic-batching-async-sched-mode
inference-dynamic-batching-block-size inference-dynamic-batching-buffer-size-gb
inference-dynamic-batching-cuda-graph-mixed-prefill-count
inference-dynamic-batching-cuda-graph-sizing-distribution inference-dynamic-batching-logprobs-mode
inference-dynamic-batching-mamba-memory-ratio inference-dynamic-batching-max-requests
inference-dynamic-batching-max-tokens inference-dynamic-batching-num-cuda-graphs
inference-dynamic-batching-paused-buffer-size-gb inference-dynamic-batching-prefix-caching
inference-dynamic-batching-prefix-caching-coordinator-policy
inference-dynamic-batching-prefix-caching-eviction-policy
inference-dynamic-batching-prefix-caching-mamba-gb
inference-dynamic-batching-prefix-caching-routing-alpha inference-dynamic-batching-sampling-backend
inference-dynamic-batching-track-generated-token-events
inference-dynamic-batching-track-paused-request-events
inference-dynamic-batching-unified-memory-level inference-fuse-tp-communication
inference-grouped-gemm-backend inference-logging-step-interval inference-max-requests
inference-max-seq-length inference-moe-disable-fused-quant-kernels
inference-moe-token-dispatcher-type inference-rng-tracker inference-shards
inference-text-gen-server-logging inference-use-synchronous-zmq-collectives inference-wandb-logging
init-method-std init-method-xavier-uniform init-model-with-meta-device initial-loss-scale
inprocess-active-world-size inprocess-barrier-timeout inprocess-completion-timeout
inprocess-empty-cuda-cache inprocess-granularity inprocess-hard-timeout inprocess-heartbeat-interval
inprocess-heartbeat-timeout inprocess-last-call-wait inprocess-max-iterations
inprocess-monitor-process-interval inprocess-monitor-thread-interval
inprocess-progress-watchdog-interval inprocess-restart inprocess-soft-timeout
inprocess-termination-grace-time is-hybrid-model iter-per-epoch iterations-to-skip
keep-fp8-transpose-cache kitchen-attention-backend kv-channels kv-lora-rank langrl-env-config
lazy-mpu-init linear-attention-freq linear-conv-kernel-dim linear-key-head-dim linear-num-key-heads
linear-num-value-heads linear-value-head-dim lion-beta1 lion-beta2 load load-main-params-from-ckpt
local-rank log-device-memory-used log-energy log-interval log-max-attention-logit
log-memory-interval log-memory-to-tensorboard log-num-zeros-in-grad log-params-norm log-progress
log-straggler log-throughput log-timers-to-tensorboard log-validation-ppl-to-tensorboard
log-world-size-to-tensorboard logging-level logits-load-decode-threads logits-load-dir
logits-load-ignore-errors logits-load-kd-loss-alpha logits-load-msc-prefetch-depth
logits-load-prefetch-factor logits-save-dir logits-save-dtype logits-save-top-k logits-save-top-p
logits-save-top-p-min-k loss-scale loss-scale-window lr lr-decay-iters lr-decay-samples
lr-decay-style lr-warmup-fraction lr-warmup-init lr-warmup-iters lr-warmup-samples
lr-wsd-decay-iters lr-wsd-decay-samples lr-wsd-decay-style main-grads-dtype main-params-dtype
make-vocab-size-divisible-by mamba-head-dim mamba-inference-conv-states-dtype
mamba-inference-ssm-states-dtype mamba-num-groups mamba-num-heads mamba-state-dim
mamba-training-ssm-states-dtype manual-gc manual-gc-interval mask-factor mask-prob mask-type
max-position-embeddings max-seqlen-per-dp-cp-rank max-tokens-to-oom
megatron-fsdp-enable-fine-grained-param-gather megatron-fsdp-grad-comm-dtype
megatron-fsdp-main-grads-dtype megatron-fsdp-main-params-dtype megatron-fsdp-max-pool-double-buffer
megatron-fsdp-version memory-snapshot-path merge-file mhc-init-gating-factor
mhc-num-residual-streams mhc-recompute-layer-num mhc-sinkhorn-iterations micro-batch-size
microbatch-group-size-per-virtual-pipeline-stage mid-level-dataset-surplus min-loss-scale min-lr
min-offloaded-tensor-size mla-down-proj-fusion mlp-chunks-for-prefill mlp-chunks-for-training
mock-data model-parallel-size moe-apply-probs-on-input moe-aux-loss-coeff moe-combine-bwd-dtype
moe-deepep-num-sms moe-dispatch-fwd-dtype moe-enable-deepep moe-enable-routing-replay
moe-expert-capacity-factor moe-expert-rank-capacity-factor moe-ffn-hidden-size
moe-flex-dispatcher-backend moe-flex-dispatcher-num-sms moe-grouped-gemm
moe-hybridep-num-blocks-permute moe-hybridep-num-blocks-unpermute moe-hybridep-num-sms
moe-hybridep-num-sms-preprocessing moe-hybridep-pad-uneven-dispatch-inputs moe-input-jitter-eps
moe-latent-size moe-layer-freq moe-layer-recompute moe-mlp-glu-interleave-size moe-ncclep-zero-copy
moe-pad-expert-input-to-capacity moe-pad-experts-for-cuda-graph-inference moe-paged-stash
moe-paged-stash-buffer-size-factor-cpu moe-paged-stash-buffer-size-factor-cuda
moe-paged-stash-page-size moe-per-layer-logging moe-permute-fusion moe-permute-fusion-into-hybridep
moe-router-bias-update-rate moe-router-dtype moe-router-enable-expert-bias moe-router-force-biased
moe-router-force-load-balancing moe-router-fusion moe-router-group-topk
moe-router-load-balancing-type moe-router-num-groups moe-router-padding-for-fp8
moe-router-padding-for-quantization moe-router-pre-softmax moe-router-quantile-balancing-ema
moe-router-score-function moe-router-topk moe-router-topk-scaling-factor
moe-routing-trace-capture-hidden-states moe-routing-trace-capture-logits
moe-routing-trace-dump-weights moe-routing-trace-max-training-iters moe-routing-trace-path
moe-shared-expert-gate moe-shared-expert-glu-interleave-size moe-shared-expert-intermediate-size
moe-shared-expert-overlap moe-single-grouped-bias moe-single-grouped-weight
moe-token-dispatcher-type moe-token-drop-policy moe-upcycling-granularity moe-use-grouped-tensor
moe-use-upcycling moe-z-loss-coeff mrope-section mscale mscale-all-dim mtp-detach-heads mtp-hsm
mtp-hybrid-override-pattern mtp-loss-scaling-factor mtp-num-layers mtp-standalone
mtp-use-repeated-layer multi-latent-attention multiple-validation-sets muon-coefficient-type
muon-extra-scale-factor muon-fp32-matmul-prec muon-momentum muon-nesterov muon-no-split-qkv
muon-num-ns-steps muon-scalar-optimizer muon-scale-mode muon-tp-mode muon-use-syrk
mup-attn-scale-power mup-base-head-dim mup-base-hidden-size mup-embedding-mult mup-output-mult
mup-width-mult nccl-all-reduce-for-prefill nccl-communicator-config-path no-align-grad-reduce
no-align-param-gather no-barrier-with-level-1-timing no-bias-dropout-fusion no-bias-gelu-fusion
no-bias-swiglu-fusion no-check-for-nan-in-loss-and-grad no-ckpt-fully-parallel-save
no-ckpt-load-validate-sharding-integrity no-clone-scatter-output-in-embedding
no-create-attention-mask-in-dataloader no-data-sharding no-dsa-indexer-rotate-activation
no-dsa-indexer-scoring-relu no-flight-recorder-dump-on-timeout no-flight-recorder-extra-dump-on-exec
no-flight-recorder-include-only-active no-fp8-wgrad no-gradient-accumulation-fusion
no-gradient-reduce-div-fusion no-inference-disable-ep-consensus
no-inference-dynamic-batching-prefix-caching no-inference-text-gen-server-logging
no-inference-use-synchronous-zmq-collectives no-inference-wandb-logging no-initialization
no-load-optim no-load-rng no-log-loss-scale-to-tensorboard no-manual-gc-eval
no-masked-softmax-fusion no-mmap-bin-files no-one-logger no-overlap-p2p-communication
no-pad-vocab-size no-persist-layer-norm no-pin-cpu-grads no-pin-cpu-params no-position-embedding
no-rl-inference-logprobs-is-correction no-rl-offload-inference-model-weights-when-idle
no-rl-partial-rollouts no-rl-persist-cuda-graphs no-rl-skip-bos-token no-rl-training-cuda-graphs
no-rl-use-sequence-packing no-rl-verify-model-weights-swap no-rope-freq no-rope-fusion no-save-optim
no-save-rng no-save-tokenizer-assets no-strict-fsdp-dtensor-load
no-tokenizer-sentencepiece-ignore-extra-whitespaces no-tp-comm-bulk-dgrad no-tp-comm-bulk-wgrad
no-tp-comm-overlap-ag no-tp-comm-overlap-rs no-tp-comm-split-ag no-tp-comm-split-rs
no-use-layer-wise-param-layout no-use-tokenizer-model-from-checkpoint-args no-weight-decay-cond-type
no-yarn-correction-range-round-to-int non-persistent-ckpt-type non-persistent-global-ckpt-dir
non-persistent-local-ckpt-algo non-persistent-local-ckpt-dir non-persistent-save-interval
norm-epsilon normalization null-tokenizer-eod-id null-tokenizer-pad-id num-attention-heads
num-channels num-classes num-dataset-builder-threads num-distributed-optimizer-instances num-experts
num-layers num-layers-at-end-in-bf16 num-layers-at-start-in-bf16
num-layers-per-virtual-pipeline-stage num-query-groups num-speculative-tokens
num-virtual-stages-per-pipeline-rank num-workers nvtx-ranges object-storage-cache-path
offload-modules one-logger-async one-logger-project one-logger-run-name onnx-safe openai-gelu
optimizer optimizer-cpu-offload optimizer-cuda-graph optimizer-offload-fraction otel-enabled
otel-service-name otel-span-groups outer-dp-sharding-strategy output-bert-embeddings
output-logit-dtype overlap-cpu-optimizer-d2h-h2d overlap-dispatch-backward-with-experts-wgrad
overlap-grad-reduce overlap-moe-expert-parallel-comm overlap-p2p-communication-warmup-flush
overlap-param-gather overlap-param-gather-with-optimizer-step override-ckpt-iteration
override-opt-param-scheduler override-opt_param-scheduler padded-vocab-size patch-dim
per-dataset-sequences-path per-split-data-args-path perform-rl-step persistent-save-interval
phase-transition-iterations pipeline-model-parallel-comm-backend pipeline-model-parallel-layout
pipeline-model-parallel-size position-embedding-type pretrained-checkpoint profile profile-ranks
profile-step-end profile-step-start pytorch-profiler-collect-callstack
pytorch-profiler-collect-chakra pytorch-profiler-collect-shapes q-lora-rank qk-clip qk-clip-alpha
qk-clip-threshold qk-head-dim qk-l2-norm qk-layernorm qk-pos-emb-head-dim query-in-block-prob
quick-geglu rampup-batch-size recompute-activations recompute-granularity recompute-method
recompute-modules recompute-num-layers record-memory-history record-shapes refit-method
relative-attention-max-distance relative-attention-num-buckets replication replication-factor
replication-jump rerun-mode reset-attention-mask reset-position-ids result-rejected-tracker-filename
retriever-report-topk-accuracies retriever-score-scaling reuse-grad-buf-for-mxfp8-param-ag
rl-consumption-granularity rl-default-temperature rl-default-top-k rl-default-top-p
rl-durable-rollout-bank rl-generation-lag rl-importance-sampling-truncation-coef
rl-inference-expert-model-parallel-size rl-inference-expert-tensor-model-parallel-size
rl-inference-logprobs-is-correction rl-inference-model-unified-memory-level rl-inference-parsers
rl-inference-pipeline-model-parallel-size rl-inference-tensor-model-parallel-size
rl-kv-cache-management-mode rl-max-inflight-requests rl-offload-inference-model-weights-when-idle
rl-offload-optimizer-during-inference rl-partial-rollouts rl-persist-cuda-graphs rl-profile
rl-profile-dir rl-prompts-per-eval rl-rollout-bank-dir rl-rollout-bank-max-bytes
rl-sequence-packing-algo rl-sequence-packing-max-sequences-per-bin rl-skip-bos-token
rl-submission-granularity rl-training-cuda-graphs rl-use-sequence-packing
rl-verify-model-weights-swap rope-scaling-factor rope-type rotary-base rotary-interleaved
rotary-percent rotary-scaling-factor rotary-seq-len-interpolation-factor
run-workload-inspector-server sample-rate save save-activations-interval save-dgrads-interval
save-interval save-params-interval save-retain-interval save-tokens-per-expert-interval
save-wgrads-interval seed seq-length sequence-parallel sft sft-tokenizer-prompt-format sgd-momentum
sharp-enabled-group short-seq-prob skip-train softmax-type spec split squared-relu
start-eval-at-iter start-weight-decay step-batch-size-schedule straggler-ctrlr-port
straggler-minmax-count suggested-communication-unit-size swiglu swin-backbone-type symmetric-ar-type
te-precision-config-file te-rng-tracker tensor-model-parallel-size tensor-parallel-num-weight-shards
tensorboard-dir tensorboard-log-interval tensorboard-queue-size test-data-path test-mode
tiktoken-num-special-tokens tiktoken-pattern timing-log-level timing-log-option titles-data-path
tokenizer-hf-no-include-special-tokens tokenizer-hf-no-use-fast tokenizer-metadata tokenizer-model
tokenizer-sentencepiece-legacy tokenizer-special-tokens tokenizer-type
torch-fsdp2-no-reshard-after-forward tp-comm-bootstrap-backend tp-comm-overlap tp-comm-overlap-cfg
tp-comm-overlap-rs-dgrad train-data-path train-iters train-samples train-sync-interval
transformer-impl trust-remote-code untie-embeddings-and-output-weights use-checkpoint-args
use-checkpoint-opt-param-scheduler use-checkpoint-opt_param-scheduler use-cpu-initialization
use-dist-ckpt use-distributed-optimizer use-flash-attn use-fused-weighted-squared-relu use-gigatoken
use-grouped-gemm-for-dense-mlp use-grouped-gemm-for-shared-expert use-kitchen-attention
use-legacy-static-engine use-mcore-models use-megatron-fsdp use-mp-args-from-checkpoint-args use-mup
use-nccl-ub use-one-sent-docs use-persistent-ckpt-worker use-precision-aware-optimizer
use-pytorch-profiler use-ring-exchange-p2p use-rope-scaling use-rotary-position-embeddings
use-same-sampling-seed-across-dp-ranks use-sharp use-te-activation-func use-torch-fsdp2
use-torch-optimizer-for-cpu-offload use-tp-pp-dp-mapping use-transformer-engine-op-fuser v-head-dim
valid-data-path validation-set-names verify-integrity vision-backbone-type vision-pretraining
vision-pretraining-type vocab-extra-ids vocab-file vocab-size wandb-entity wandb-exp-name
wandb-project wandb-save-dir warmup weight-decay weight-decay-incr-style wgrad-deferral-limit
window-attn-skip-freq window-size yaml-cfg yarn-beta-fast yarn-beta-slow
yarn-correction-range-round-to-int yarn-original-max-position-embeddings
)";
}

std::span<const MegatronFlagGroup> megatron_flag_groups() { return kGroups; }

}  // namespace penstock
