#include <doctest/doctest.h>

#include "core/values/error.h"
#include "estimator/count_operations.h"
#include "tests/estimator/models.h"

// Parameters of published models, from the sizes in their config.json. Each total was found in
// public repositories that quote the headers of its weight files, but for those marked "worked
// out": sums over the shapes of all tensors that agree with the rounded figure of the model's page
// or paper ("131.6B"). A table that the head shares counts once.
using namespace penstock;
using tests::model_of;

namespace {

struct Published {
  const char* name;
  const char* config;
  std::int64_t parameters;
};

constexpr Published kPublished[] = {
    {"Llama-3.1-405B", R"("model_type": "llama", "num_hidden_layers": 126, "hidden_size": 16384,
      "num_attention_heads": 128, "num_key_value_heads": 8, "intermediate_size": 53248,
      "vocab_size": 128256, "tie_word_embeddings": false)",
     405'853'388'800},
    {"Llama-3-70B", R"("model_type": "llama", "num_hidden_layers": 80, "hidden_size": 8192,
      "num_attention_heads": 64, "num_key_value_heads": 8, "intermediate_size": 28672,
      "vocab_size": 128256)",
     70'553'706'496},
    // The whole checkpoint, 108,641,793,536, less its vision tower, 871,932,416.
    {"Llama-4-Scout", R"("architectures": ["Llama4ForConditionalGeneration"],
      "model_type": "llama4", "vision_config": {"hidden_size": 1408}, "text_config": {
      "model_type": "llama4_text", "num_hidden_layers": 48, "hidden_size": 5120,
      "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
      "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_local_experts": 16,
      "num_experts_per_tok": 1, "interleave_moe_layer_step": 1, "hidden_act": "silu",
      "vocab_size": 202048, "use_qk_norm": true})",
     107'769'861'120},
    // 401,583,781,376 less the same tower; every second layer is dense.
    {"Llama-4-Maverick", R"("model_type": "llama4", "text_config": {
      "model_type": "llama4_text", "num_hidden_layers": 48, "hidden_size": 5120,
      "num_attention_heads": 40, "num_key_value_heads": 8, "head_dim": 128,
      "intermediate_size": 8192, "intermediate_size_mlp": 16384, "num_local_experts": 128,
      "num_experts_per_tok": 1, "interleave_moe_layer_step": 2, "vocab_size": 202048})",
     400'711'848'960},
    // Worked out.
    {"DBRX", R"("model_type": "dbrx", "architectures": ["DbrxForCausalLM"], "d_model": 6144,
      "n_heads": 48, "n_layers": 40, "max_seq_len": 32768, "vocab_size": 100352,
      "attn_config": {"clip_qkv": 8, "kv_n_heads": 8, "rope_theta": 500000},
      "ffn_config": {"ffn_hidden_size": 10752, "moe_num_experts": 16, "moe_top_k": 4},
      "tie_word_embeddings": false)",
     131'596'523'520},
    {"StarCoder", R"("model_type": "gpt_bigcode", "n_layer": 40, "n_embd": 6144, "n_head": 48,
      "n_inner": 24576, "n_positions": 8192, "vocab_size": 49152, "multi_query": true,
      "activation_function": "gelu")",
     15'517'456'384},
    // Worked out.
    {"StarCoder2-3B", R"("model_type": "starcoder2", "num_hidden_layers": 30, "hidden_size": 3072,
      "num_attention_heads": 24, "num_key_value_heads": 2, "intermediate_size": 12288,
      "vocab_size": 49152, "use_bias": true, "hidden_act": "gelu_pytorch_tanh",
      "mlp_type": "default", "norm_type": "layer_norm", "max_position_embeddings": 16384)",
     3'030'371'328},
    // Worked out.
    {"StarCoder2-15B", R"("model_type": "starcoder2", "num_hidden_layers": 40, "hidden_size": 6144,
      "num_attention_heads": 48, "num_key_value_heads": 4, "intermediate_size": 24576,
      "vocab_size": 49152, "use_bias": true, "tie_word_embeddings": false)",
     15'957'889'024},
    // Worked out.
    {"MPT-7B", R"("model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32,
      "expansion_ratio": 4, "max_seq_len": 2048, "vocab_size": 50432, "no_bias": true,
      "learned_pos_emb": true, "attn_config": {"alibi": true, "attn_type": "multihead_attention"})",
     6'649'286'656},
    // mosaicml/llm-foundry, scripts/train/benchmarking/README.md; with biases.
    {"llm-foundry's 7b", R"("model_type": "mpt", "d_model": 4096, "n_heads": 32, "n_layers": 32,
      "expansion_ratio": 4, "max_seq_len": 2048, "vocab_size": 50368, "no_bias": false,
      "learned_pos_emb": true, "attn_config": {"alibi": false})",
     6'658'859'008},
    {"llm-foundry's 70b", R"("model_type": "mpt", "d_model": 8192, "n_heads": 64, "n_layers": 80,
      "expansion_ratio": 4, "max_seq_len": 2048, "vocab_size": 50368, "no_bias": false,
      "learned_pos_emb": true, "attn_config": {"alibi": false})",
     64'862'437'376},
    // Worked out: 96 (736,100,352 + 2 * 18432 * 73728 + 4 * 18432) + 2 * 256000 * 18432 + 2 *
    // 18432. arXiv 2406.11704 has 9.4 of embeddings and 331.6 of others, in thousand millions.
    {"Nemotron-4-340B", R"("model_type": "nemotron", "num_hidden_layers": 96, "hidden_size": 18432,
      "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 192,
      "intermediate_size": 73728, "vocab_size": 256000, "hidden_act": "relu2")",
     341'029'195'776},
    {"Phi-2", R"("model_type": "phi", "num_hidden_layers": 32, "hidden_size": 2560,
      "num_attention_heads": 32, "num_key_value_heads": null, "intermediate_size": 10240,
      "vocab_size": 51200, "hidden_act": "gelu_new", "qk_layernorm": false)",
     2'779'683'840},
    {"RoBERTa base", R"("model_type": "roberta", "architectures": ["RobertaForMaskedLM"],
      "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
      "intermediate_size": 3072, "max_position_embeddings": 514, "type_vocab_size": 1,
      "vocab_size": 50265, "hidden_act": "gelu")",
     124'697'433},
    {"BERT base", R"("model_type": "bert", "architectures": ["BertForMaskedLM"],
      "num_hidden_layers": 12, "hidden_size": 768, "num_attention_heads": 12,
      "intermediate_size": 3072, "max_position_embeddings": 512, "type_vocab_size": 2,
      "vocab_size": 30522)",
     109'514'298},
    // Worked out.
    {"Command-R", R"("model_type": "cohere", "num_hidden_layers": 40, "hidden_size": 8192,
      "num_attention_heads": 64, "num_key_value_heads": 64, "intermediate_size": 22528,
      "vocab_size": 256000, "use_qk_norm": false)",
     34'980'831'232},
    // Worked out.
    {"Command-R+", R"("model_type": "cohere", "num_hidden_layers": 64, "hidden_size": 12288,
      "num_attention_heads": 96, "num_key_value_heads": 8, "intermediate_size": 33792,
      "vocab_size": 256000, "use_qk_norm": true)",
     103'810'674'688},
    {"Command-R7B", R"("model_type": "cohere2", "num_hidden_layers": 32, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
      "vocab_size": 256000, "sliding_window": 4096)",
     8'028'033'024},
    // 8,291,375,616 less a vision tower of 675,759,104: the same language model as Qwen2-7B.
    {"Qwen2-VL-7B", R"("model_type": "qwen2_vl", "num_hidden_layers": 28, "hidden_size": 3584,
      "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
      "vocab_size": 152064, "tie_word_embeddings": false, "hidden_act": "silu",
      "vision_config": {"depth": 32, "embed_dim": 1280})",
     7'615'616'512},
    {"Qwen-7B", R"("model_type": "qwen", "num_hidden_layers": 32, "hidden_size": 4096,
      "num_attention_heads": 32, "kv_channels": 128, "intermediate_size": 22016,
      "vocab_size": 151936, "no_bias": true)",
     7'721'324'544},
    {"Qwen1.5-MoE-A2.7B", R"("model_type": "qwen2_moe", "num_hidden_layers": 24,
      "hidden_size": 2048, "num_attention_heads": 16, "num_key_value_heads": 16,
      "intermediate_size": 5632, "moe_intermediate_size": 1408, "num_experts": 60,
      "num_experts_per_tok": 4, "shared_expert_intermediate_size": 5632, "vocab_size": 151936)",
     14'315'784'192},
    {"Qwen3-8B", R"("model_type": "qwen3", "num_hidden_layers": 36, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128,
      "intermediate_size": 12288, "vocab_size": 151936)",
     8'190'735'360},
    {"Qwen3-30B-A3B", R"("model_type": "qwen3_moe", "num_hidden_layers": 48, "hidden_size": 2048,
      "num_attention_heads": 32, "num_key_value_heads": 4, "head_dim": 128,
      "intermediate_size": 6144, "moe_intermediate_size": 768, "num_experts": 128,
      "num_experts_per_tok": 8, "vocab_size": 151936)",
     30'532'122'624},
    {"Gemma-2-9B", R"("model_type": "gemma2", "num_hidden_layers": 42, "hidden_size": 3584,
      "num_attention_heads": 16, "num_key_value_heads": 8, "head_dim": 256,
      "intermediate_size": 14336, "vocab_size": 256000, "hidden_activation": "gelu_pytorch_tanh")",
     9'241'705'984},
    {"Gemma-3-1B", R"("model_type": "gemma3_text", "num_hidden_layers": 26, "hidden_size": 1152,
      "num_attention_heads": 4, "num_key_value_heads": 1, "head_dim": 256,
      "intermediate_size": 6912, "vocab_size": 262144)",
     999'885'952},
    // 4,300,079,472 less tower (416,866,032) and projector (2,950,272). The file leaves out heads
    // and vocabulary.
    {"Gemma-3-4B", R"("model_type": "gemma3", "vision_config": {"hidden_size": 1152},
      "text_config": {"model_type": "gemma3_text", "num_hidden_layers": 34, "hidden_size": 2560,
      "intermediate_size": 10240, "sliding_window": 1024})",
     3'880'263'168},
    // Worked out.
    {"Falcon-7B", R"("model_type": "falcon", "num_hidden_layers": 32, "hidden_size": 4544,
      "num_attention_heads": 71, "multi_query": true, "new_decoder_architecture": false,
      "parallel_attn": true, "bias": false, "alibi": false, "vocab_size": 65024)",
     6'921'720'704},
    // 41,835,970,560 less a head of 532,676,608 that shares the table.
    // Worked out.
    {"Falcon-40B", R"("model_type": "falcon", "num_hidden_layers": 60, "hidden_size": 8192,
      "num_attention_heads": 128, "num_kv_heads": 8, "new_decoder_architecture": true,
      "multi_query": true, "parallel_attn": true, "bias": false, "vocab_size": 65024)",
     41'303'293'952},
    {"GPT-J-6B", R"("model_type": "gptj", "n_layer": 28, "n_embd": 4096, "n_head": 16,
      "n_inner": null, "n_positions": 2048, "vocab_size": 50400, "activation_function": "gelu_new")",
     6'050'882'784},
    {"Pythia-6.9B", R"("model_type": "gpt_neox", "num_hidden_layers": 32, "hidden_size": 4096,
      "num_attention_heads": 32, "intermediate_size": 16384, "vocab_size": 50432)",
     6'857'302'016},
    {"BLOOM-560M", R"("model_type": "bloom", "n_layer": 24, "hidden_size": 1024, "n_head": 16,
      "vocab_size": 250880)",
     559'214'592},
    {"BLOOM-176B", R"("model_type": "bloom", "n_layer": 70, "hidden_size": 14336, "n_head": 112,
      "vocab_size": 250880)",
     176'247'271'424},
    // Worked out.
    {"OPT-6.7B", R"("model_type": "opt", "num_hidden_layers": 32, "hidden_size": 4096,
      "num_attention_heads": 32, "ffn_dim": 16384, "max_position_embeddings": 2048,
      "vocab_size": 50272, "activation_function": "relu")",
     6'658'473'984},
    {"Phi-3-mini", R"("model_type": "phi3", "num_hidden_layers": 32, "hidden_size": 3072,
      "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 8192,
      "vocab_size": 32064)",
     3'821'079'552},
    // Worked out.
    {"Phi-3.5-MoE", R"("model_type": "phimoe", "num_hidden_layers": 32, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 6400,
      "num_local_experts": 16, "num_experts_per_tok": 2, "attention_bias": true,
      "lm_head_bias": true, "vocab_size": 32064)",
     41'873'153'344},
    {"OLMo-7B", R"("model_type": "olmo", "num_hidden_layers": 32, "hidden_size": 4096,
      "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 50304)",
     6'888'095'744},
    {"OLMo-2-7B", R"("model_type": "olmo2", "num_hidden_layers": 32, "hidden_size": 4096,
      "num_attention_heads": 32, "intermediate_size": 11008, "vocab_size": 100352)",
     7'298'617'344},
    // Worked out.
    {"Granite-3.0-8B", R"("model_type": "granite", "num_hidden_layers": 40, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 12800,
      "vocab_size": 49155, "tie_word_embeddings": true, "attention_bias": false)",
     8'170'848'256},
    {"Granite-3.0-3B-A800M", R"("model_type": "granitemoe", "num_hidden_layers": 32,
      "hidden_size": 1536, "num_attention_heads": 24, "num_key_value_heads": 8,
      "intermediate_size": 512, "num_local_experts": 40, "num_experts_per_tok": 8,
      "vocab_size": 49155, "tie_word_embeddings": true)",
     3'298'793'472},
    {"StableLM-2-1.6B", R"("model_type": "stablelm", "num_hidden_layers": 24, "hidden_size": 2048,
      "num_attention_heads": 32, "num_key_value_heads": 32, "intermediate_size": 5632,
      "vocab_size": 100352, "use_qkv_bias": true)",
     1'644'515'328},
    {"InternLM2-7B", R"("model_type": "internlm2", "num_hidden_layers": 32, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 14336,
      "vocab_size": 92544, "bias": false)",
     7'737'708'544},
    // Worked out.
    {"Baichuan2-13B", R"("model_type": "baichuan", "num_hidden_layers": 40, "hidden_size": 5120,
      "num_attention_heads": 40, "intermediate_size": 13696, "vocab_size": 125696,
      "model_max_length": 4096)",
     13'896'668'160},
    {"ChatGLM3-6B", R"("model_type": "chatglm", "num_layers": 28, "hidden_size": 4096,
      "num_attention_heads": 32, "ffn_hidden_size": 13696, "kv_channels": 128,
      "multi_query_attention": true, "multi_query_group_num": 2, "padded_vocab_size": 65024,
      "add_bias_linear": false, "add_qkv_bias": true, "seq_length": 8192)",
     6'243'584'000},
    {"GLM-4-9B", R"("model_type": "glm", "num_hidden_layers": 40, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 128,
      "intermediate_size": 13696, "attention_bias": true, "vocab_size": 151552)",
     9'399'951'360},
    // Worked out.
    {"GLM-4-32B", R"("model_type": "glm4", "num_hidden_layers": 61, "hidden_size": 6144,
      "num_attention_heads": 48, "num_key_value_heads": 2, "head_dim": 128,
      "intermediate_size": 23040, "attention_bias": false, "vocab_size": 151552)",
     32'566'081'536},
    {"Mixtral-8x22B", R"("model_type": "mixtral", "num_hidden_layers": 56, "hidden_size": 6144,
      "num_attention_heads": 48, "num_key_value_heads": 8, "intermediate_size": 16384,
      "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 32000)",
     140'620'634'112},
    {"DeepSeek-V2", R"("model_type": "deepseek_v2", "num_hidden_layers": 60, "hidden_size": 5120,
      "num_attention_heads": 128, "intermediate_size": 12288, "moe_intermediate_size": 1536,
      "n_routed_experts": 160, "n_shared_experts": 2, "num_experts_per_tok": 6,
      "first_k_dense_replace": 1, "q_lora_rank": 1536, "kv_lora_rank": 512,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 102400)",
     235'741'434'880},
    // 671,026,419,200 less 58 * 256 offsets of expert scores, which no gradient trains.
    {"DeepSeek-V3", R"("model_type": "deepseek_v3", "num_hidden_layers": 61, "hidden_size": 7168,
      "num_attention_heads": 128, "intermediate_size": 18432, "moe_intermediate_size": 2048,
      "n_routed_experts": 256, "n_shared_experts": 1, "num_experts_per_tok": 8,
      "first_k_dense_replace": 3, "q_lora_rank": 1536, "kv_lora_rank": 512,
      "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
      "num_nextn_predict_layers": 1)",
     671'026'404'352},
    // Table 1 of the model card, arXiv 2508.10925: 116.83 thousand million.
    {"gpt-oss-120b", R"("model_type": "gpt_oss", "num_hidden_layers": 36, "hidden_size": 2880,
      "num_attention_heads": 64, "num_key_value_heads": 8, "head_dim": 64,
      "intermediate_size": 2880, "num_local_experts": 128, "num_experts_per_tok": 4,
      "attention_bias": true, "vocab_size": 201088)",
     116'829'156'672},
    {"Mistral-7B", R"("architectures": ["MistralForCausalLM"], "num_hidden_layers": 32,
      "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8,
      "intermediate_size": 14336, "vocab_size": 32000)",
     7'241'732'096},
    {"Qwen2-7B", R"("architectures": ["Qwen2ForCausalLM"], "num_hidden_layers": 28,
      "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4,
      "intermediate_size": 18944, "vocab_size": 152064, "tie_word_embeddings": false)",
     7'615'616'512},
    // Worked out.
    {"OPT-125M", R"("model_type": "opt", "num_hidden_layers": 12, "hidden_size": 768,
      "num_attention_heads": 12, "ffn_dim": 3072, "max_position_embeddings": 2048,
      "vocab_size": 50272)",
     125'239'296},
    // arXiv 2204.06745, of which 19,937,341,440 are not of embeddings.
    {"GPT-NeoX-20B", R"("model_type": "gpt_neox", "num_hidden_layers": 44, "hidden_size": 6144,
      "num_attention_heads": 64, "intermediate_size": 24576, "vocab_size": 50432)",
     20'554'567'680},
    // Worked out, as are those up to the end: sums over the shapes of all tensors. Of models whose
    // router has offsets of expert scores these are left out, as of DeepSeek-V3.
    {"OLMo-3-7B", R"("architectures": ["Olmo3ForCausalLM"], "model_type": "olmo3",
      "num_hidden_layers": 32, "hidden_size": 4096, "num_attention_heads": 32,
      "intermediate_size": 11008, "sliding_window": 4096, "vocab_size": 100278)",
     7'298'011'136},
    {"Seed-OSS-36B", R"("model_type": "seed_oss", "num_hidden_layers": 64, "hidden_size": 5120,
      "num_attention_heads": 80, "num_key_value_heads": 8, "head_dim": 128,
      "intermediate_size": 27648, "attention_bias": true, "attention_out_bias": false,
      "vocab_size": 155136)",
     36'151'104'512},
    {"EXAONE-4.0-32B", R"("model_type": "exaone4", "num_hidden_layers": 64, "hidden_size": 5120,
      "num_attention_heads": 40, "num_key_value_heads": 8, "intermediate_size": 27392,
      "sliding_window": 4096, "sliding_window_pattern": "LLLG", "vocab_size": 102400)",
     32'003'216'384},
    {"GLM-4.5-Air", R"("model_type": "glm4_moe", "num_hidden_layers": 46, "hidden_size": 4096,
      "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
      "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_routed_experts": 128,
      "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 1,
      "attention_bias": true, "use_qk_norm": false, "vocab_size": 151552)",
     106'852'245'504},
    {"GLM-4.5", R"("model_type": "glm4_moe", "num_hidden_layers": 92, "hidden_size": 5120,
      "num_attention_heads": 96, "num_key_value_heads": 8, "head_dim": 128,
      "intermediate_size": 12288, "moe_intermediate_size": 1536, "n_routed_experts": 160,
      "n_shared_experts": 1, "num_experts_per_tok": 8, "first_k_dense_replace": 3,
      "attention_bias": true, "use_qk_norm": true, "vocab_size": 151552)",
     352'797'814'784},
    {"dots.llm1", R"("model_type": "dots1", "num_hidden_layers": 62, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 32, "head_dim": 128,
      "intermediate_size": 10944, "moe_intermediate_size": 1408, "n_routed_experts": 128,
      "n_shared_experts": 2, "num_experts_per_tok": 6, "first_k_dense_replace": 1,
      "vocab_size": 152064)",
     142'774'373'888},
    {"MiniMax-M2", R"("model_type": "minimax_m2", "num_hidden_layers": 62, "hidden_size": 3072,
      "num_attention_heads": 48, "num_key_value_heads": 8, "head_dim": 128,
      "intermediate_size": 1536, "num_local_experts": 256, "num_experts_per_tok": 8,
      "use_qk_norm": true, "vocab_size": 200064)",
     228'689'748'992},
    // Sizes as lists, one per layer.
    {"Hunyuan-A13B", R"("architectures": ["HunYuanMoEV1ForCausalLM"],
      "model_type": "hunyuan_v1_moe", "num_hidden_layers": 32, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 3072,
      "moe_intermediate_size": [3072, 3072], "num_experts": 64, "moe_topk": [8, 8],
      "num_shared_expert": [1, 1], "use_qk_norm": true, "tie_word_embeddings": true,
      "vocab_size": 128167)",
     80'393'183'232},
    {"ERNIE-4.5-21B-A3B", R"("model_type": "ernie4_5_moe", "num_hidden_layers": 28,
      "hidden_size": 2560, "num_attention_heads": 20, "num_key_value_heads": 4, "head_dim": 128,
      "intermediate_size": 12288, "moe_intermediate_size": 1536, "moe_num_experts": 64, "moe_k": 6,
      "moe_num_shared_experts": 2, "moe_layer_start_index": 1, "moe_layer_interval": 1,
      "use_bias": false, "tie_word_embeddings": true, "vocab_size": 103424)",
     21'825'436'160},
    // Without the two numbers of each layer's activation.
    {"Apertus-8B", R"("model_type": "apertus", "num_hidden_layers": 32, "hidden_size": 4096,
      "num_attention_heads": 32, "num_key_value_heads": 8, "intermediate_size": 21504,
      "hidden_act": "xielu", "vocab_size": 131072)",
     8'053'338'112},
    {"AFM-4.5B", R"("model_type": "arcee", "num_hidden_layers": 36, "hidden_size": 2560,
      "num_attention_heads": 20, "num_key_value_heads": 4, "intermediate_size": 18432,
      "hidden_act": "relu2", "vocab_size": 128000)",
     4'619'164'160},
    {"GPT-1", R"("architectures": ["OpenAIGPTLMHeadModel"], "model_type": "openai-gpt",
      "n_layer": 12, "n_embd": 768, "n_head": 12, "n_positions": 512, "afn": "gelu",
      "vocab_size": 40478)",
     116'534'784},
    {"XGLM-7.5B", R"("model_type": "xglm", "num_layers": 32, "d_model": 4096,
      "attention_heads": 32, "ffn_dim": 16384, "max_position_embeddings": 2048,
      "activation_function": "gelu", "vocab_size": 256008)",
     7'492'771'840},
    {"CTRL", R"("architectures": ["CTRLLMHeadModel"], "model_type": "ctrl", "n_layer": 48,
      "n_embd": 1280, "n_head": 16, "dff": 8192, "n_positions": 256, "vocab_size": 246534)",
     1'637'964'550},
    {"DistilBERT", R"("architectures": ["DistilBertForMaskedLM"], "model_type": "distilbert",
      "n_layers": 6, "dim": 768, "n_heads": 12, "hidden_dim": 3072,
      "max_position_embeddings": 512, "vocab_size": 30522)",
     66'985'530},
    {"ModernBERT-base", R"("architectures": ["ModernBertForMaskedLM"], "model_type": "modernbert",
      "num_hidden_layers": 22, "hidden_size": 768, "num_attention_heads": 12,
      "intermediate_size": 1152, "global_attn_every_n_layers": 3, "local_attention": 128,
      "hidden_activation": "gelu", "vocab_size": 50368)",
     149'655'232},
};

}  // namespace

TEST_CASE("parameters of published models come out to the last one") {
  for (const Published& model : kPublished) {
    CAPTURE(model.name);
    std::int64_t counted = 0;
    try {
      counted = parameter_count(model_of("{" + std::string(model.config) + "}"));
    } catch (const Error& error) {
      FAIL_CHECK(error.what());
    }
    CHECK(counted == model.parameters);
  }
}

TEST_CASE("models that come as files have the parameters that were published") {
  const auto file = [](const char* name) { return tests::shipped_model(name); };
  CHECK(parameter_count(file("gpt2")) == 124'439'808);
  CHECK(parameter_count(file("mixtral-8x7b")) == 46'702'792'704);
  CHECK(active_parameter_count(file("mixtral-8x7b")) == 12'879'925'248);
  CHECK(parameter_count(file("deepseek-v2-lite")) == 15'706'484'224);
}

// Read as a decoder like Llama they had up to half as many parameters again.
TEST_CASE("models of other kinds are refused, and it is said of what kind they are") {
  const auto why = [](const std::string& fields) -> std::string {
    try {
      static_cast<void>(model_of("{" + fields + R"(, "num_hidden_layers": 12, "hidden_size": 768,
          "num_attention_heads": 12, "intermediate_size": 3072, "vocab_size": 30522})"));
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const auto says = [&](const std::string& fields, const std::string& words) {
    return why(fields).find(words) != std::string::npos;
  };
  CHECK(says(R"("model_type": "deberta-v2")", "another kind of attention"));
  CHECK(says(R"("model_type": "wav2vec2")", "other input than text"));
  CHECK(says(R"("model_type": "bitnet")", "three values"));
  CHECK(says(R"("model_type": "arctic")", "beside its experts"));
  CHECK(says(R"("model_type": "new", "architectures": ["NewForMaskedLM"])",
             "not that of a causal language model"));
  CHECK(says(R"("model_type": "bert", "max_position_embeddings": 512, "embedding_size": 128)",
             "embedding_size 128"));
  CHECK(says(R"("model_type": "llama", "num_key_value_heads": [12, 4])", "layers are not alike"));
}
