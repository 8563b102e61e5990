#include "cli/run_report.h"

#include "tokenizer/stages/code_points.h"

namespace wick {
namespace {

using Report = nlohmann::ordered_json;

Report tool_calls(const Response& response) {
  Report calls = Report::array();
  for (const ToolCall& call : response.tool_calls) {
    // Arguments that are not JSON stay the text they are.
    Report arguments = Report::parse(call.arguments, nullptr, false);
    if (arguments.is_discarded()) arguments = call.arguments;
    Report entry = {{"name", call.name}, {"arguments", std::move(arguments)}};
    if (!call.id.empty()) entry["id"] = call.id;
    calls.push_back(std::move(entry));
  }
  return calls;
}

Report logprobs(const std::vector<SampledToken>& choices, const Tokenizer& tokenizer) {
  const auto entry = [&](int32_t token, float logprob) {
    return Report{{"token", token}, {"text", replace_invalid_utf8(tokenizer.bytes(token))}, {"logprob", logprob}};
  };
  Report list = Report::array();
  for (const SampledToken& choice : choices) {
    Report one = entry(choice.token, choice.logprob);
    one["top"] = Report::array();
    for (const auto& [token, logprob] : choice.top) one["top"].push_back(entry(token, logprob));
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

Report to_json(const Reply& reply, const TextModel& model, uint64_t seed, const std::vector<SampledToken>& choices) {
  const GenerateResult& result = reply.result;
  Report report = {{"model", model.name()},
                   {"text", reply.response.content},
                   {"reasoning", reply.response.reasoning},
                   {"tool_calls", tool_calls(reply.response)},
                   {"tokens", result.tokens},
                   {"stop_reason", to_string(result.reason)},
                   {"stop", result.stop},
                   {"seed", seed},
                   {"prompt_tokens", result.prompt_tokens},
                   {"generated_tokens", result.tokens.size()},
                   {"timings",
                    {{"first_token_s", result.prefill_seconds},
                     {"prefill_s", result.prefill_seconds},
                     {"decode_s", result.decode_seconds},
                     {"prefill_tokens_per_s", result.prefill_rate()},
                     {"decode_tokens_per_s", result.decode_rate()}}}};
  if (result.drafted > 0) report["speculation"] = {{"drafted", result.drafted}, {"accepted", result.accepted}};
  if (!choices.empty()) report["logprobs"] = logprobs(choices, model.tokenizer());
  return report;
}

}  // namespace wick
