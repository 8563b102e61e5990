#include "server/api/token_requests.h"
#include "server/api/chat/shown_pictures.h"

namespace wick {

const Fields<TokenizeRequest>& TokenizeRequest::fields() {
  using R = TokenizeRequest;
  static const Fields<R> fields =
      Fields<R>("TokenizeRequest", BodyUse::kRequest)
          .add("model", &R::model, "Whose tokens; the first model's when it is left out.")
          .add("content", &R::content, "A text.")
          .add("messages", &R::messages, "Or a conversation, which goes through the chat template.")
          .add("tools", &R::tools, "With messages: functions that the model may call.")
          .add("add_special", &R::add_special, "With content: the tokens that the model wants around a text.")
          .add("with_pieces", &R::with_pieces, "Also say what each token stands for.");
  return fields;
}

TokenizeRequest TokenizeRequest::parse(const Json& body) {
  TokenizeRequest request = fields().read(body);
  if (request.content.has_value() == request.messages.has_value()) {
    throw RequestError("content", request.content ? "content and messages are both there, expected one of them"
                                                  : "content is missing, and messages too");
  }
  if (request.messages) check_messages(*request.messages, "messages");
  if (request.messages) decode_shown(*request.messages, "messages");
  if (!request.tools.empty() && !request.messages) {
    throw RequestError("tools", "tools is set, but messages is not");
  }
  if (!request.tools.empty()) request.tool_list = *body.find("tools");
  return request;
}

const Fields<TokenizeAnswer>& TokenizeAnswer::fields() {
  using R = TokenizeAnswer;
  static const Fields<R> fields = Fields<R>("TokenizeAnswer", BodyUse::kResponse)
                                      .add("tokens", &R::tokens, "Their ids.")
                                      .add("pieces", &R::pieces, "What each stands for, when asked for.")
                                      .add("count", &R::count, "How many.");
  return fields;
}

const Fields<DetokenizeRequest>& DetokenizeRequest::fields() {
  using R = DetokenizeRequest;
  static const Fields<R> fields = Fields<R>("DetokenizeRequest", BodyUse::kRequest)
                                      .add("model", &R::model, "Whose tokens; the first model's when it is left out.")
                                      .add("tokens", &R::tokens, "Ids.")
                                      .required()
                                      .range(0)
                                      .add("skip_special", &R::skip_special, "Leave control tokens out.");
  return fields;
}

const Fields<DetokenizeAnswer>& DetokenizeAnswer::fields() {
  static const Fields<DetokenizeAnswer> fields = Fields<DetokenizeAnswer>("DetokenizeAnswer", BodyUse::kResponse)
                                                     .add("content", &DetokenizeAnswer::content, "The text.");
  return fields;
}

}  // namespace wick
