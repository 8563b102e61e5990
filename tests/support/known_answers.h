#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/text_model.h"
#include "server/model_host.h"
#include "support/http_client.h"
#include "support/temp_folder.h"

namespace wick {

// A request to a server whose answer is known, because the model was asked alone.
struct KnownRequest {
  std::string target;                // "/v1/completions"
  std::string fields;                // of the body, without the braces around them
  std::vector<std::string> answers;  // texts, per choice; tokens of /tokenize
  bool can_stream = true;

  std::string body(std::string_view more = {}) const;  // with more fields
  // What is wrong with the answer to body(), or to body(kStream); empty: nothing.
  std::string problem_of(const HttpAnswer& answer) const;
  std::string problem_of_stream(const HttpAnswer& answer) const;

  static constexpr char kStream[] = R"("stream": true)";
};

// The texts of a whole answer, per choice. Throws nlohmann's exceptions for what is not one.
std::vector<std::string> texts_of(std::string_view target, const std::string& body);

// Two models for a server, "tiny" and "ember", and requests of every kind for them.
class KnownAnswers {
 public:
  static constexpr int64_t kTinyContext = 256, kEmberContext = 1024;

  KnownAnswers();

  // With memory for a few sequences only, so that some give way to others.
  std::vector<ModelEntry> models() const;
  const std::vector<KnownRequest>& requests() const { return requests_; }
  // One of the tiny model that takes some time; what it has written by then is a beginning of the answer.
  const KnownRequest& long_request() const { return long_; }

 private:
  void add_completion(const std::shared_ptr<const TextModel>& model, std::string_view name, const std::string& prompt,
                      int64_t tokens, int64_t choices = 1, float temperature = 0);
  void add_chat(const std::shared_ptr<const TextModel>& model, std::string_view name, const std::string& question,
                int64_t tokens, float temperature = 0);
  void add_tokens(const TextModel& model, std::string_view name, const std::string& text);

  TempFolder folder_;
  int64_t tiny_kv_bytes_ = 0;
  std::vector<KnownRequest> requests_;
  KnownRequest long_;
};

}  // namespace wick
