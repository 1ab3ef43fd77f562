package openai

import (
	"slices"
	"strings"
)

// selfHosted are parameters that OpenAI's API does not have and clients of self-hosted servers send: vLLM, SGLang, TGI,
// llama.cpp, Ollama, text-generation-webui, routers, and servers of embeddings, images and speech. A function that
// names one gets it. Else it is ignored with a warning, unless Function.Strict.
const selfHosted = `
	add_generation_prompt add_special_tokens allowed_token_ids bad_words best_of cache_salt chat_template
	chat_template_kwargs continue_final_message documents early_stopping echo enable_thinking guided_choice
	guided_decoding_backend guided_grammar guided_json guided_regex guided_whitespace_pattern ignore_eos
	include_reasoning include_stop_str_in_output kv_transfer_params length_penalty logits_processors media_io_kwargs
	min_p min_tokens mm_processor_kwargs priority prompt_embeds prompt_logprobs repetition_detection repetition_penalty
	request_id response_prefix return_token_ids return_tokens_as_token_ids skip_special_tokens
	spaces_between_special_tokens stop_token_ids structural_tag structured_outputs thinking thinking_token_budget top_k
	truncate_prompt_tokens use_beam_search vllm_xargs

	custom_logit_processor custom_params data_parallel_rank ebnf extra_key json_schema lora_path max_new_tokens
	min_new_tokens no_stop_trim regex return_hidden_states rid separate_reasoning session_params stop_regex
	stream_reasoning

	adapter_id decoder_input_details details do_sample grammar return_full_text top_n_tokens truncate typical_p watermark

	cache_prompt dry_allowed_length dry_base dry_multiplier dry_penalty_last_n dry_sequence_breakers dynatemp_exponent
	dynatemp_range grammar_lazy id_slot ignore_eos_token lora min_keep mirostat mirostat_eta mirostat_tau n_indent n_keep
	n_predict n_probs parse_tool_calls penalize_nl post_sampling_probs reasoning_format repeat_last_n repeat_penalty
	return_progress samplers t_max_predict_ms t_max_prompt_ms tfs_z thinking_forced_open timings_per_token top_n_sigma
	xtc_probability xtc_threshold

	context format keep_alive num_ctx num_gpu num_predict num_thread options raw system template think

	ban_eos_token dynamic_temperature dynatemp_high dynatemp_low encoder_repetition_penalty epsilon_cutoff eta_cutoff
	no_repeat_ngram_size penalty_alpha repetition_penalty_range smoothing_curve smoothing_factor temperature_last typical

	cache_control chat_id conversation_id debug image_config session_id tags trace trace_id user_id

	include models plugins prompt_mode provider random_seed reasoning route safe_prompt safety_settings top_a transforms
	usage

	embedding_type input_type instruction late_chunking normalize normalized pooling task

	cfg_scale guidance_scale height lora_scale negative_prompt num_images num_inference_steps sampler sampler_name
	scheduler steps width

	beam_size compression_ratio_threshold condition_on_previous_text diarize hotwords initial_prompt log_prob_threshold
	max_completion_tokens max_tokens n no_speech_threshold seed temperature top_p frequency_penalty presence_penalty
	vad_filter vad_parameters word_timestamps
`

// streamOptions are the same of stream_options.
var streamOptions = []string{"chunk_include_usage", "continuous_usage_stats", "include_timings"}

// ignores reports whether the function ignores a parameter that OpenAI's API does not have.
func (f *Function) ignores(name string) bool {
	return !f.Strict && slices.Contains(strings.Fields(selfHosted), name)
}

// Warning names the parameters that were ignored; "" means none was.
func (r *Request) Warning() string {
	if len(r.ignored) == 0 {
		return ""
	}
	return "ignored parameters, which the model's function does not take: " + strings.Join(r.ignored, ", ")
}
