#include "text/grammar/json_schema.h"

#include <algorithm>
#include <map>

#include "text/grammar/char_automaton.h"
#include "text/grammar/json_pieces.h"
#include "text/grammar/schema_members.h"
#include "text/grammar/schema_merge.h"
#include "text/grammar/schema_number.h"
#include "text/grammar/schema_overlap.h"
#include "text/grammar/schema_string.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxSchemas = 20000;
constexpr size_t kMaxNameLength = 200;  // of a member, where others may follow

class SchemaCompiler {
 public:
  SchemaCompiler(const Json& root, JsonLayout layout, RuleSet& rules)
      : merger_(root), rules_(rules), pieces_(rules, layout), root_(root) {}

  RuleId compile() {
    const RuleId first = rule_for({{&root_}, {}});
    while (!open_.empty()) {
      const auto entry = open_.back();
      open_.pop_back();
      rules_.define(entry->second, build(entry->first));
    }
    return first;
  }

 private:
  using Known = std::map<Conjunction, RuleId>;

  // Rules are made here and filled in later, so that schemas may refer to each other.
  RuleId rule_for(const Conjunction& conjunction) {
    const auto [entry, is_new] = known_.try_emplace(conjunction, 0);
    if (is_new) {
      const std::string& place = (conjunction.schemas.empty() ? root_ : *conjunction.schemas[0]).place();
      if (known_.size() > kMaxSchemas) {
        throw Error(ErrorCode::kInvalidArgument,
                    cat(place, ": the schema has more than ", kMaxSchemas, " combinations"));
      }
      entry->second = rules_.add_rule(place);
      open_.push_back(entry);
    }
    return entry->second;
  }
  ExprId call(const Conjunction& conjunction) {
    if (conjunction.schemas.empty()) return pieces_.value();
    return rules_.call(rule_for(conjunction));
  }

  ExprId build(const Conjunction& conjunction) {
    const MergedSchema schema = merger_.merge(conjunction);
    if (schema.choice) return build_choice(conjunction, schema);
    if (schema.values) return build_values(schema);
    std::vector<ExprId> options;
    if (schema.types & kNullBit) options.push_back(pieces_.null());
    if (schema.types & kBooleanBit) options.push_back(pieces_.boolean());
    if (schema.types & (kIntegerBit | kFractionBit)) options.push_back(compile_number(schema, rules_, pieces_));
    if (schema.types & kStringBit) options.push_back(compile_string(schema, rules_, pieces_));
    if (schema.types & kArrayBit) options.push_back(build_array(schema));
    if (schema.types & kObjectBit) options.push_back(build_object(schema));
    return rules_.choice(std::move(options));
  }

  ExprId build_choice(const Conjunction& conjunction, const MergedSchema& schema) {
    std::vector<Conjunction> chosen;
    chosen.reserve(schema.choice->options->as_array().size());
    for (const Json& option : schema.choice->options->as_array()) {
      chosen.push_back(merger_.choose(conjunction, schema, option));
    }
    if (schema.choice->key.second == Conjunction::Choice::kOneOf) require_disjoint(chosen, *schema.choice->options);
    std::vector<ExprId> options;
    options.reserve(chosen.size());
    for (const Conjunction& option : chosen) options.push_back(call(option));
    return rules_.choice(std::move(options));
  }

  void require_disjoint(const std::vector<Conjunction>& options, const Json& place) const {
    for (size_t i = 0; i < options.size(); ++i) {
      for (size_t j = i + 1; j < options.size(); ++j) {
        if (are_disjoint(merger_, options[i], options[j])) continue;
        throw schema_error(place,
                           cat("options ", i, " and ", j, " of oneOf might both match; use anyOf, or let a required ",
                               "member with different constants tell them apart"));
      }
    }
  }

  ExprId build_values(const MergedSchema& schema) {
    std::vector<ExprId> options;
    for (const Json* value : *schema.values) {
      if (allows_value(schema, *value)) options.push_back(literal(*value));
    }
    return rules_.choice(std::move(options));
  }

  ExprId literal(const Json& value) {
    if (value.is_null()) return pieces_.null();
    if (value.is_bool()) return rules_.bytes(value.as_bool() ? "true" : "false");
    if (value.is_text()) return rules_.bytes(JsonPieces::quoted(value.as_text()));
    if (value.is_number()) {
      if (value.is_int() && !small_integer(value)) throw schema_error(value, "this number is too large");
      const auto whole = small_integer(value);
      return rules_.bytes(whole ? cat(*whole) : cat(value.as_number()));
    }
    std::vector<ExprId> parts;
    const auto add = [&](ExprId part) {
      if (!parts.empty()) parts.push_back(pieces_.mark(','));
      parts.push_back(part);
    };
    if (value.is_array()) {
      for (const Json& item : value.as_array()) add(literal(item));
      return pieces_.enclosed('[', rules_.sequence(std::move(parts)), ']');
    }
    for (const auto& [name, item] : value.as_object()) add(member(name, literal(item)));
    return pieces_.enclosed('{', rules_.sequence(std::move(parts)), '}');
  }

  ExprId member(const std::string& name, ExprId value) {
    return rules_.sequence({rules_.bytes(JsonPieces::quoted(name)), pieces_.mark(':'), value});
  }

  ExprId build_array(const MergedSchema& schema) {
    if (schema.unique_items && !(schema.max_items && *schema.max_items <= 1)) {
      throw schema_error(*schema.unique_items, "uniqueItems is not supported");
    }
    const size_t prefix = prefix_length(schema);
    const auto fixed = static_cast<int64_t>(prefix);
    const auto above = [](int64_t count, int64_t taken) { return std::max<int64_t>(0, count - taken); };
    const auto max_above = [&](int64_t taken) {
      return schema.max_items ? std::optional(above(*schema.max_items, taken)) : std::nullopt;
    };
    const ExprId item = call(item_at(schema, prefix));
    const ExprId more = rules_.outline(cat("items of ", schema.place), rules_.sequence({pieces_.mark(','), item}));
    ExprId rest = rules_.empty();
    if (prefix > 0) {
      rest = rules_.repeat(more, above(schema.min_items, fixed), max_above(fixed));
    } else if (schema.max_items != 0) {
      rest = rules_.sequence({item, rules_.repeat(more, above(schema.min_items, 1), max_above(1))});
      if (schema.min_items == 0) rest = rules_.optional(rest);
    }
    // From the last item of the prefix to the first: each may be where the list ends, once there are enough.
    for (size_t i = prefix; i-- > 0;) {
      const auto before = static_cast<int64_t>(i);
      if (schema.max_items && before >= *schema.max_items) {
        rest = schema.min_items > before ? rules_.never() : rules_.empty();
        continue;
      }
      const ExprId comma = i > 0 ? pieces_.mark(',') : rules_.empty();
      rest = rules_.sequence({comma, call(item_at(schema, i)), rest});
      if (before >= schema.min_items) rest = rules_.optional(rest);
      rest = rules_.outline(cat("items of ", schema.place), rest);
    }
    if (schema.max_items && schema.min_items > *schema.max_items) return rules_.never();
    return pieces_.enclosed('[', rest, ']');
  }

  // Named members in order, any of the optional ones left out; then the others. For each place in that order there are
  // two rules: whether or not a comma is due.
  ExprId build_object(const MergedSchema& schema) {
    const MemberList members = members_of(schema);
    check_counts(schema, members);
    if (!schema.property_names.empty() && (!members.named.empty() || members.others_pattern)) {
      throw schema_error(*schema.property_names[0], "propertyNames is supported only without other names");
    }
    ExprId first = rules_.empty(), later = rules_.empty();
    if (members.allows_others) {
      const ExprId other =
          rules_.outline(cat("other members of ", schema.place),
                         rules_.sequence({other_name(schema, members), pieces_.mark(':'), call(members.others)}));
      later = rules_.repeat(rules_.sequence({pieces_.mark(','), other}), 0, std::nullopt);
      later = rules_.outline(cat("members of ", schema.place), later);
      first = rules_.optional(rules_.sequence({other, later}));
    }
    for (size_t i = members.named.size(); i-- > 0;) {
      const Member* at = &members.named[i];
      const ExprId one =
          rules_.outline(cat("member '", at->name, "' of ", schema.place), member(at->name, call(at->value)));
      ExprId as_first = rules_.sequence({one, later});
      ExprId as_later = rules_.sequence({pieces_.mark(','), one, later});
      if (!at->is_required) {
        as_first = rules_.choice({as_first, first});
        as_later = rules_.choice({as_later, later});
      }
      first = rules_.outline(cat("members of ", schema.place), as_first);
      later = rules_.outline(cat("members of ", schema.place), as_later);
    }
    return pieces_.enclosed('{', first, '}');
  }

  static void check_counts(const MergedSchema& schema, const MemberList& members) {
    const auto required = std::count_if(members.named.begin(), members.named.end(),
                                        [](const Member& member) { return member.is_required; });
    const bool can_be_more =
        members.allows_others || static_cast<int64_t>(members.named.size()) > schema.max_properties.value_or(INT64_MAX);
    if (schema.min_properties > required || (schema.max_properties && can_be_more)) {
      throw Error(ErrorCode::kInvalidArgument,
                  cat(schema.place, ": minProperties and maxProperties are supported only where the required and the ",
                      "named members satisfy them anyway"));
    }
  }

  ExprId constrained_name(const MergedSchema& schema) {
    const Json& place = *schema.property_names[0];
    MergedSchema names = merger_.merge({schema.property_names, {}});
    if (names.choice) throw schema_error(place, "propertyNames with a choice is not supported");
    names.types &= kStringBit;
    if (names.values) return build_values(names);
    return names.types ? compile_string(names, rules_, pieces_) : rules_.never();
  }

  // The name of a member that is not among the named ones, in quotes.
  ExprId other_name(const MergedSchema& schema, const MemberList& members) {
    if (members.others_pattern) {
      return compile_pattern(members.others_pattern_text, members.others_pattern->place(), rules_, pieces_);
    }
    if (!schema.property_names.empty()) return constrained_name(schema);
    if (members.named.empty()) return pieces_.string();
    std::vector<std::vector<uint32_t>> names;
    for (const Member& named : members.named) {
      names.push_back(codepoints_of(named.name));
      if (names.back().size() > kMaxNameLength) {
        throw Error(ErrorCode::kInvalidArgument, cat(schema.place, ": a member's name is longer than ", kMaxNameLength,
                                                     " characters where other members are allowed"));
      }
    }
    std::sort(names.begin(), names.end());
    if (!any_name_) {
      any_name_ = rules_.add_rule("rest of a name");
      const ExprId any = rules_.repeat(pieces_.plain_chars(CodepointSet::all()), 0, std::nullopt);
      rules_.define(*any_name_, rules_.sequence({any, rules_.bytes("\"")}));
    }
    return rules_.sequence({rules_.bytes("\""), unlike(names, 0, names.size(), 0)});
  }

  // The rest of a name, with the closing quote, that equals names[begin, end) so far and must differ from all of them.
  // Every character is written in one way, so that texts differ when names do.
  ExprId unlike(const std::vector<std::vector<uint32_t>>& names, size_t begin, size_t end, size_t depth) {
    std::vector<ExprId> options;
    const bool is_name = begin < end && names[begin].size() == depth;
    if (is_name) {
      ++begin;
    } else {
      options.push_back(rules_.bytes("\""));
    }
    std::vector<CodepointRange> taken;
    while (begin < end) {
      const uint32_t next = names[begin][depth];
      size_t stop = begin;
      while (stop < end && names[stop][depth] == next) ++stop;
      taken.push_back({next, next});
      options.push_back(
          rules_.sequence({pieces_.plain_chars(CodepointSet({{next, next}})), unlike(names, begin, stop, depth + 1)}));
      begin = stop;
    }
    options.push_back(
        rules_.sequence({pieces_.plain_chars(CodepointSet(std::move(taken)).complement()), rules_.call(*any_name_)}));
    return rules_.choice(std::move(options));
  }

  SchemaMerger merger_;
  RuleSet& rules_;
  JsonPieces pieces_;
  const Json& root_;
  Known known_;
  std::vector<Known::iterator> open_;
  std::optional<RuleId> any_name_;
};

}  // namespace

RuleId compile_json_schema(const Json& schema, JsonLayout layout, RuleSet& rules) {
  return SchemaCompiler(schema, layout, rules).compile();
}

}  // namespace wick::grammar
