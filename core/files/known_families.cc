// Tables only: one row per family with what its model code fixes, aliases, kinds of model that are
// no plain stack of layers, defaults of classes, and fields that say nothing about sizes. A row is
// added after reading the modelling code of the family in transformers (modeling_*.py,
// configuration_*.py).
#include "core/files/known_families.h"

#include <algorithm>
#include <array>
#include <utility>

namespace penstock {
namespace {

constexpr auto kHead = QueryKeyNorm::kPerHead;
constexpr auto kWhole = QueryKeyNorm::kWhole;

// Decoders of 2019 to 2022: biases everywhere, and layer norms.
constexpr KnownFamily with_biases(std::string_view name, std::string_view model_type, bool tied,
                                  int learned_positions) {
  KnownFamily family{.name = name, .model_type = model_type};
  family.gated = false;
  family.tied = tied;
  family.learned_positions = learned_positions;
  family.query_key_value_bias = family.output_bias = family.perceptron_bias = true;
  family.norm_bias = family.layer_norm = true;
  return family;
}

constexpr KnownFamily with_bloom_norm() {
  KnownFamily bloom = with_biases("Bloom", "bloom", true, -1);
  bloom.embedding_norm = true;
  bloom.rotary_share = 0.0;  // linear biases of attention
  return bloom;
}

// Attention and perceptron read the same norm; a head with a bias.
constexpr KnownFamily side_by_side(std::string_view name, std::string_view model_type,
                                   bool attention_bias, double rotary_share) {
  KnownFamily family = with_biases(name, model_type, false, -1);
  family.rotary_share = rotary_share;
  family.query_key_value_bias = family.output_bias = attention_bias;
  family.norms = 1;
  family.head_bias = true;
  return family;
}

constexpr KnownFamily encoder(std::string_view name, std::string_view model_type,
                              int token_types = 2) {
  KnownFamily family = with_biases(name, model_type, true, 0);
  family.head_bias = family.embedding_norm = true;
  family.final_norm = family.causal = false;
  family.token_types = token_types;
  return family;
}

// Of its first layer the norm before attention is left out, which makes room for the embedding's.
constexpr KnownFamily modern_bert() {
  KnownFamily family{.name = "ModernBertForMaskedLM", .model_type = "modernbert"};
  family.tied = family.head_bias = true;
  family.causal = false;
  family.layer_norm = true;
  family.whole_every = 3;
  return family;
}

// GPT: as GPT-2, with norms behind what they belong to.
constexpr KnownFamily first_gpt() {
  KnownFamily family = with_biases("OpenAIGPTLMHead", "openai-gpt", true, 0);
  family.final_norm = false;
  return family;
}

// Biases of attention, or waves that are added to the embedding.
constexpr KnownFamily without_rotation(std::string_view name, std::string_view model_type) {
  KnownFamily family = with_biases(name, model_type, true, -1);
  family.rotary_share = 0.0;
  return family;
}

constexpr KnownFamily gpt_neox() {
  KnownFamily family = with_biases("GPTNeoX", "gpt_neox", false, -1);
  family.rotary_share = 0.25;
  return family;
}

constexpr KnownFamily ctrl() {
  KnownFamily family = without_rotation("CTRLLMHead", "ctrl");
  family.head_bias = true;
  return family;
}

constexpr KnownFamily jais() {
  KnownFamily family = without_rotation("JAISLMHead", "jais");
  family.gated = true;
  return family;
}

constexpr KnownFamily with_one_key_value_head() {
  KnownFamily family = with_biases("GPTBigCode", "gpt_bigcode", true, 0);
  family.multi_query = true;
  return family;
}

constexpr KnownFamily without_projection_biases() {
  KnownFamily family = with_biases("GPTNeo", "gpt_neo", true, 0);
  family.query_key_value_bias = false;
  return family;
}

constexpr std::array kFamilies{
    KnownFamily{.name = "Llama", .model_type = "llama"},
    KnownFamily{.name = "Llama4", .model_type = "llama4_text"},
    KnownFamily{.name = "Mistral", .model_type = "mistral"},
    KnownFamily{.name = "Mixtral", .model_type = "mixtral"},
    KnownFamily{.name = "QWenLMHead", .model_type = "qwen", .query_key_value_bias = true},
    KnownFamily{.name = "Qwen2", .model_type = "qwen2", .query_key_value_bias = true},
    KnownFamily{.name = "Qwen2Moe", .model_type = "qwen2_moe", .query_key_value_bias = true},
    KnownFamily{.name = "Qwen3", .model_type = "qwen3", .query_key_norm = kHead},
    KnownFamily{.name = "Qwen3Moe", .model_type = "qwen3_moe", .query_key_norm = kHead},
    KnownFamily{.name = "DeepseekV2", .model_type = "deepseek_v2"},
    KnownFamily{.name = "DeepseekV3", .model_type = "deepseek_v3"},
    KnownFamily{.name = "Gemma", .model_type = "gemma", .tied = true},
    KnownFamily{
        .name = "Gemma2", .model_type = "gemma2", .tied = true, .norms = 4, .whole_every = 2},
    KnownFamily{.name = "Gemma3",
                .model_type = "gemma3_text",
                .tied = true,
                .norms = 4,
                .query_key_norm = kHead,
                .whole_every = 6},
    KnownFamily{.name = "Phi3", .model_type = "phi3"},
    KnownFamily{.name = "PhiMoE", .model_type = "phimoe", .norm_bias = true, .layer_norm = true},
    KnownFamily{
        .name = "Olmo", .model_type = "olmo", .norms = 0, .layer_norm = true, .final_norm = false},
    KnownFamily{.name = "Olmo2", .model_type = "olmo2", .query_key_norm = kWhole},
    KnownFamily{.name = "Olmo3", .model_type = "olmo3", .query_key_norm = kWhole, .whole_every = 4},
    KnownFamily{.name = "Olmoe", .model_type = "olmoe", .query_key_norm = kWhole},
    KnownFamily{.name = "Granite", .model_type = "granite"},
    KnownFamily{.name = "GraniteMoe", .model_type = "granitemoe"},
    KnownFamily{.name = "GraniteMoeShared", .model_type = "granitemoeshared"},
    KnownFamily{.name = "StableLm",
                .model_type = "stablelm",
                .norm_bias = true,
                .layer_norm = true,
                .rotary_share = 0.25},
    KnownFamily{.name = "InternLM2", .model_type = "internlm2"},
    KnownFamily{.name = "InternLM3", .model_type = "internlm3"},
    KnownFamily{.name = "Baichuan", .model_type = "baichuan"},
    KnownFamily{.name = "ChatGLM",
                .model_type = "chatglm",
                .query_key_value_bias = true,
                .rotary_share = 0.5},
    KnownFamily{
        .name = "Glm", .model_type = "glm", .query_key_value_bias = true, .rotary_share = 0.5},
    KnownFamily{.name = "Glm4", .model_type = "glm4", .norms = 4, .rotary_share = 0.5},
    KnownFamily{.name = "Glm4Moe", .model_type = "glm4_moe", .rotary_share = 0.5},
    KnownFamily{
        .name = "Exaone4", .model_type = "exaone4", .query_key_norm = kHead, .whole_every = 4},
    KnownFamily{.name = "Dots1", .model_type = "dots1", .query_key_norm = kHead},
    KnownFamily{.name = "MiniMaxM2", .model_type = "minimax_m2", .query_key_norm = kWhole},
    KnownFamily{.name = "HunYuanMoEV1",
                .model_type = "hunyuan_v1_moe",
                .tied = true,
                .query_key_norm = kHead},
    KnownFamily{.name = "HunYuanDenseV1",
                .model_type = "hunyuan_v1_dense",
                .tied = true,
                .query_key_norm = kHead},
    KnownFamily{.name = "Ernie4_5", .model_type = "ernie4_5", .tied = true},
    KnownFamily{.name = "Ernie4_5_Moe", .model_type = "ernie4_5_moe", .tied = true},
    KnownFamily{
        .name = "Apertus", .model_type = "apertus", .gated = false, .query_key_norm = kHead},
    KnownFamily{.name = "Arcee", .model_type = "arcee", .gated = false},
    KnownFamily{
        .name = "Cohere", .model_type = "cohere", .tied = true, .norms = 1, .layer_norm = true},
    KnownFamily{.name = "Cohere2",
                .model_type = "cohere2",
                .tied = true,
                .norms = 1,
                .layer_norm = true,
                .whole_every = 4},
    KnownFamily{.name = "Dbrx", .model_type = "dbrx", .layer_norm = true},
    KnownFamily{.name = "GptOss",
                .model_type = "gpt_oss",
                .query_key_value_bias = true,
                .output_bias = true,
                .expert_biases = true,
                .attention_sinks = true,
                .whole_every = 2},
    KnownFamily{.name = "Nemotron",
                .model_type = "nemotron",
                .gated = false,
                .norm_bias = true,
                .layer_norm = true,
                .rotary_share = 0.5},
    KnownFamily{.name = "MPT",
                .model_type = "mpt",
                .gated = false,
                .tied = true,
                .layer_norm = true,
                .rotary_share = 0.0},
    with_biases("Starcoder2", "starcoder2", true, -1),
    with_one_key_value_head(),
    with_biases("GPT2LMHead", "gpt2", true, 0),
    without_projection_biases(),
    gpt_neox(),
    side_by_side("GPTJ", "gptj", false, 0.25),
    side_by_side("CodeGen", "codegen", false, 0.25),
    side_by_side("Phi", "phi", true, 0.5),
    with_biases("OPT", "opt", true, 2),
    with_bloom_norm(),
    KnownFamily{.name = "Falcon",
                .model_type = "falcon",
                .gated = false,
                .tied = true,
                .norms = 1,
                .norm_bias = true,
                .layer_norm = true,
                .multi_query = true},
    encoder("BertForMaskedLM", "bert"),
    encoder("RobertaForMaskedLM", "roberta"),
    encoder("DistilBertForMaskedLM", "distilbert", 0),
    modern_bert(),
    first_gpt(),
    jais(),
    ctrl(),
    without_rotation("XGLM", "xglm"),
};

// Other names of the same.
constexpr std::array<std::pair<std::string_view, std::string_view>, 27> kAliases{{
    {"qwen2_vl", "qwen2"},
    {"qwen2_vl_text", "qwen2"},
    {"qwen2_5_vl", "qwen2"},
    {"qwen2_5_vl_text", "qwen2"},
    {"qwen3_vl_text", "qwen3"},
    {"qwen3_vl_moe_text", "qwen3_moe"},
    {"deepseek", "llama"},
    {"kimi_k2", "deepseek_v3"},
    {"gemma3", "gemma3_text"},
    {"RefinedWeb", "falcon"},
    {"RefinedWebModel", "falcon"},
    {"ministral", "mistral"},
    {"exaone", "llama"},
    {"smollm3", "llama"},
    {"seed_oss", "llama"},
    {"internlm", "internlm2"},
    {"aquila", "llama"},
    {"yi", "llama"},
    {"xlm-roberta", "roberta"},
    {"camembert", "roberta"},
    {"data2vec-text", "roberta"},
    {"stablelm_epoch", "stablelm"},
    {"phi-msft", "phi"},
    {"llama4", "llama4_text"},
    {"minicpm", "llama"},
    {"glm4v_text", "glm4"},
    {"glm4v_moe_text", "glm4_moe"},
}};

constexpr std::string_view kStateSpace = "a state-space or hybrid model";
constexpr std::string_view kTwoStacks = "an encoder-decoder model";
constexpr std::string_view kShared = "a model whose layers share their weights";
constexpr std::string_view kUnequal = "a model whose layers are not alike";
constexpr std::string_view kOtherAttention = "a model with another kind of attention";
constexpr std::string_view kOtherInput = "a model of other input than text";
constexpr std::string_view kBeside = "a model with a perceptron beside its experts";
constexpr std::string_view kFewBits = "a model that is trained with weights of three values";

constexpr std::array<std::pair<std::string_view, std::string_view>, 65> kOtherKinds{{
    {"mamba", kStateSpace},
    {"mamba2", kStateSpace},
    {"falcon_mamba", kStateSpace},
    {"rwkv", kStateSpace},
    {"rwkv5", kStateSpace},
    {"rwkv6", kStateSpace},
    {"xlstm", kStateSpace},
    {"retnet", kStateSpace},
    {"jamba", kStateSpace},
    {"zamba", kStateSpace},
    {"zamba2", kStateSpace},
    {"bamba", kStateSpace},
    {"plamo2", kStateSpace},
    {"nemotron_h", kStateSpace},
    {"falcon_h1", kStateSpace},
    {"lfm2", kStateSpace},
    {"lfm2_moe", kStateSpace},
    {"recurrent_gemma", kStateSpace},
    {"qwen3_next", kStateSpace},
    {"granitemoehybrid", kStateSpace},
    {"minimax", kStateSpace},
    {"minimax_text01", kStateSpace},
    {"kimi_linear", kStateSpace},
    {"t5", kTwoStacks},
    {"mt5", kTwoStacks},
    {"umt5", kTwoStacks},
    {"longt5", kTwoStacks},
    {"switch_transformers", kTwoStacks},
    {"t5gemma", kTwoStacks},
    {"bart", kTwoStacks},
    {"mbart", kTwoStacks},
    {"m2m_100", kTwoStacks},
    {"nllb-moe", kTwoStacks},
    {"pegasus", kTwoStacks},
    {"pegasus_x", kTwoStacks},
    {"marian", kTwoStacks},
    {"led", kTwoStacks},
    {"whisper", kTwoStacks},
    {"albert", kShared},
    {"mllama", kUnequal},
    {"mllama_text_model", kUnequal},
    {"nemotron-nas", kUnequal},
    {"openelm", kUnequal},
    {"gemma3n", kUnequal},
    {"gemma3n_text", kUnequal},
    {"funnel", kUnequal},
    {"deberta", kOtherAttention},
    {"deberta-v2", kOtherAttention},
    {"xlnet", kOtherAttention},
    {"transfo-xl", kOtherAttention},
    {"longformer", kOtherAttention},
    {"big_bird", kOtherAttention},
    {"reformer", kOtherAttention},
    {"deepseek_v32", kOtherAttention},
    {"clip", kOtherInput},
    {"clip_text_model", kOtherInput},
    {"siglip", kOtherInput},
    {"siglip_text_model", kOtherInput},
    {"wav2vec2", kOtherInput},
    {"hubert", kOtherInput},
    {"wavlm", kOtherInput},
    {"arctic", kBeside},
    {"bitnet", kFewBits},
    {"hymba", kStateSpace},
    {"phi4flash", kStateSpace},
}};

// After configuration_*.py of transformers: the defaults of LlamaConfig, MistralConfig,
// Qwen2Config, Gemma3TextConfig and Llama4TextConfig.
constexpr std::array kClassSizes{
    ClassSizes{"Llama", 32, 4096, 32, 0, 0, 11008, 32000, 2048},
    ClassSizes{"Mistral", 32, 4096, 32, 8, 0, 14336, 32000, 131072},
    ClassSizes{"Qwen2", 32, 4096, 32, 32, 0, 22016, 151936, 32768},
    ClassSizes{"Gemma3", 26, 2304, 8, 4, 256, 9216, 262208, 131072},
    ClassSizes{"Llama4", 48, 5120, 40, 8, 128, 8192, 202048, 131072},
};

// Sorted, so that a reader finds his way.
constexpr auto kHarmlessFields = std::to_array<std::string_view>({
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_commit_hash",
    "_name_or_path",
    "activation",
    "activation_function",
    "add_cross_attention",
    "alibi",
    "apply_query_key_layer_scaling",
    "apply_residual_connection_post_layernorm",
    "architectures",
    "attention_bias",
    "attention_dropout",
    "attention_multiplier",
    "attention_probs_dropout_prob",
    "attention_softmax_in_fp32",
    "attn_implementation",
    "attn_logit_softcapping",
    "attn_pdrop",
    "attn_scale",
    "attn_temperature_tuning",
    "auto_map",
    "aux_loss_alpha",
    "bias_dropout_fusion",
    "bos_token_id",
    "cache_implementation",
    "classifier_dropout",
    "clip_qkv",
    "dropout",
    "dtype",
    "emb_dropout_prob",
    "emb_pdrop",
    "embd_pdrop",
    "embedding_dropout",
    "embedding_fraction",
    "embedding_multiplier",
    "eos_token_id",
    "ep_size",
    "final_logit_softcapping",
    "floor_scale",
    "for_llm_class",
    "gradient_checkpointing",
    "hidden_act",
    "hidden_activation",
    "hidden_dropout",
    "hidden_dropout_prob",
    "id2label",
    "image_token_id",
    "init_device",
    "init_method_std",
    "initial_context_length",
    "initializer_range",
    "input_jitter_noise",
    "label2id",
    "layer_norm_eps",
    "layer_norm_epsilon",
    "layerdrop",
    "layernorm_epsilon",
    "logit_scale",
    "logits_scaling",
    "masked_softmax_fusion",
    "max_window_layers",
    "mlp_bias",
    "mlp_hidden_act",
    "model_type",
    "moe_layer_freq",
    "mup_init",
    "n_group",
    "no_rope_layer_interval",
    "no_rope_layers",
    "norm_eps",
    "norm_epsilon",
    "norm_topk_prob",
    "norm_type",
    "num_labels",
    "original_max_position_embeddings",
    "original_rope",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "pad_token_id",
    "partial_rotary_factor",
    "position_embedding_type",
    "pretraining_tp",
    "problem_type",
    "quantization_config",
    "query_pre_attn_scalar",
    "reorder_and_upcast_attn",
    "resid_pdrop",
    "residual_dropout",
    "residual_multiplier",
    "return_dict",
    "rms_norm_eps",
    "rmsnorm",
    "rope_interleave",
    "rope_local_base_freq",
    "rope_parameters",
    "rope_pct",
    "rope_ratio",
    "rope_scaling",
    "rope_theta",
    "rotary",
    "rotary_base",
    "rotary_dim",
    "rotary_emb_base",
    "rotary_pct",
    "routed_scaling_factor",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "scale_attention_softmax_in_fp32",
    "scale_attn_by_inverse_layer_idx",
    "scale_attn_weights",
    "scoring_func",
    "seq_aux",
    "slow_but_exact",
    "summary_activation",
    "summary_first_dropout",
    "summary_proj_to_labels",
    "summary_type",
    "summary_use_proj",
    "swiglu_limit",
    "task_specific_params",
    "tokenizer_class",
    "topk_group",
    "topk_method",
    "torch_dtype",
    "transformers_version",
    "type",
    "unk_token_id",
    "use_cache",
    "use_parallel_residual",
    "validate_runner_input",
    "verbose",
    "video_token_id",
    "vision_end_token_id",
    "vision_start_token_id",
    "vision_token_id",
    "z_loss_coefficient",
});

constexpr auto kHarmlessObjects = std::to_array<std::string_view>(
    {"compression_config", "generation_config", "init_config", "quantization_config"});

constexpr auto kOtherInputs = std::to_array<std::string_view>(
    {"aligner_config",      "audio_config",     "audio_encoder_config", "code2wav_config",
     "gen_aligner_config",  "gen_head_config",  "gen_vision_config",    "image_config",
     "mm_config",           "perceiver_config", "projector_config",     "qformer_config",
     "speech_config",       "talker_config",    "token2wav_config",     "vision_config",
     "vision_tower_config", "visual_config",    "vit_config",           "vq_config"});

template <class Names>
bool is_among(std::string_view name, const Names& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

template <class Pairs>
std::string_view value_of(std::string_view key, const Pairs& pairs) {
  const auto found =
      std::find_if(pairs.begin(), pairs.end(), [&](const auto& pair) { return pair.first == key; });
  return found == pairs.end() ? std::string_view{} : found->second;
}

}  // namespace

const KnownFamily* known_family(std::string_view class_name, std::string_view model_type) {
  const std::string_view alias = value_of(model_type, kAliases);
  for (const KnownFamily& family : kFamilies) {
    const bool named = !class_name.empty() && class_name == family.name;
    const bool typed =
        model_type == family.model_type || (!alias.empty() && alias == family.model_type);
    if (named || typed) return &family;
  }
  return nullptr;
}

const ClassSizes* sizes_of_class(const KnownFamily& family) {
  for (const ClassSizes& sizes : kClassSizes) {
    if (sizes.family == family.name) return &sizes;
  }
  return nullptr;
}

std::string_view why_no_plain_stack(std::string_view model_type) {
  return value_of(model_type, kOtherKinds);
}

bool is_gated_activation(std::string_view activation) {
  constexpr auto kGated = std::to_array<std::string_view>({"silu", "swish"});
  return is_among(activation, kGated) || activation.find("glu") != std::string_view::npos ||
         activation.find("gated") != std::string_view::npos;
}

bool is_harmless_field(std::string_view name) { return is_among(name, kHarmlessFields); }
bool is_harmless_object(std::string_view name) { return is_among(name, kHarmlessObjects); }
bool is_other_input(std::string_view name) { return is_among(name, kOtherInputs); }

}  // namespace penstock
