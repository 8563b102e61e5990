#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "base/json.h"
#include "grammar/token_vocabulary.h"

namespace wick {

namespace grammar {
class CompiledGrammar;
class RuleSet;
class MatchCache;
struct State;
}  // namespace grammar

// How JSON is laid out.
enum class JsonLayout {
  kAny,      // any whitespace that JSON allows
  kOneLine,  // none but one optional space behind each ',' and ':'
};

// The order in which the members of an object that a schema names are written.
enum class MemberOrder {
  kSchema,  // that of the schema, all others last
  kAny,
};

// What a text may look like, compiled to a pushdown automaton over bytes. Immutable and thread-safe; copies share the
// automaton and what has been computed for it, so that a grammar used again is a grammar kept.
class Grammar {
 public:
  // GBNF, the notation of llama.cpp; the rule `root` describes the text. Throws Error(kInvalidArgument) with line and
  // column, or naming the rule at fault: undefined, left-recursive (rewrite `a ::= a "x" | "y"` as `a ::= "y" "x"*`),
  // matching nothing, or too large.
  static Grammar from_gbnf(std::string_view text);
  // Any JSON value.
  static Grammar json(JsonLayout layout = JsonLayout::kAny);
  // Any JSON object.
  static Grammar json_object(JsonLayout layout = JsonLayout::kAny);
  // JSON that satisfies the schema. Strings and numbers are written in one of their possible ways (docs/grammars.md).
  // Throws Error(kInvalidArgument) naming the place of whatever cannot be enforced: an instance that matches the
  // grammar always satisfies the schema.
  static Grammar from_json_schema(const Json& schema, JsonLayout layout = JsonLayout::kAny,
                                  MemberOrder order = MemberOrder::kSchema);

  // Whether they are copies of one another; grammars that only mean the same are not.
  bool operator==(const Grammar&) const = default;

 private:
  friend class GrammarState;
  explicit Grammar(std::shared_ptr<grammar::CompiledGrammar> compiled) : compiled_(std::move(compiled)) {}

  std::shared_ptr<grammar::CompiledGrammar> compiled_;
};

// How far a text has come in a grammar. A small value: a copy is a point to go back to, and costs two references. One
// thread at a time may use an object; any number of objects share their grammar's caches.
class GrammarState {
 public:
  GrammarState(Grammar grammar, std::shared_ptr<const TokenVocabulary> vocabulary);

  // Sets bit i of word i/32 for each token that may come next, and clears all others. End tokens are allowed exactly
  // when the text is complete, and nothing else after one was accepted. Returns whether any token is allowed at all.
  // Throws Error(kInvalidArgument) when there are fewer bits than tokens, Error(kUnsupported) when the grammar turns
  // out too ambiguous.
  bool mask(std::span<uint32_t> bits);

  // Moves on by one token or some bytes; false, and unchanged, when they do not fit.
  bool accept(int token);
  bool accept_bytes(std::string_view bytes);

  // Whether the text may end here.
  bool is_complete() const;
  // Whether an end token has been accepted.
  bool has_ended() const { return has_ended_; }

 private:
  void move_to_fresh_cache();

  Grammar grammar_;
  std::shared_ptr<const TokenVocabulary> vocabulary_;
  std::shared_ptr<grammar::MatchCache> cache_;
  grammar::State* state_ = nullptr;
  bool has_ended_ = false;
};

}  // namespace wick
