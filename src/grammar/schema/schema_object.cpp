#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "grammar/schema/schema_names.h"

namespace wick::grammar {
namespace {

constexpr size_t kMaxDuties = 5;        // some members that must be there, of whatever name
constexpr int64_t kMaxStates = 100000;  // of counts, named members and duties

struct Member {
  std::string_view name;
  std::vector<Term> terms;
  bool is_required = false;
};

// The members that are named, in order of first mention.
class MemberList {
 public:
  MemberList(const MergedSchema& schema, SchemaCases& cases) {
    for (const SchemaNode* node : schema.members) {
      for (const auto& [name, term] : node->names) add(name);
    }
    for (const std::string_view name : schema.required) members_[add(name)].is_required = true;
    for (const std::string_view name : schema.forbidden) members_[add(name)].terms.push_back(kFalseTerm);
    for (const SchemaNode* node : schema.members) add_terms(*node, cases);
    for (Member& member : members_) {
      for (const Term names : schema.names) {
        if (!cases.holds(names, {nullptr, member.name})) member.terms.push_back(kFalseTerm);
      }
    }
  }
  std::vector<Member>& members() { return members_; }

 private:
  size_t add(std::string_view name) {
    const auto [entry, is_new] = index_.try_emplace(name, members_.size());
    if (is_new) members_.push_back({name, {}, false});
    return entry->second;
  }

  void add_terms(const SchemaNode& node, SchemaCases& cases) {
    std::vector<bool> is_known(members_.size(), false);
    for (const auto& [name, term] : node.names) {
      const size_t at = index_.at(name);
      is_known[at] = true;
      members_[at].terms.push_back(term);
    }
    for (const auto& [pattern, term] : node.patterns) {
      TextMachine& machine =
          *cases.texts().machine(cases.graph().node(cases.graph().pattern(pattern, *node.source)), false);
      for (size_t i = 0; i < members_.size(); ++i) {
        if (!machine.matches(members_[i].name)) continue;
        is_known[i] = true;
        members_[i].terms.push_back(term);
      }
    }
    if (!node.rest) return;
    for (size_t i = 0; i < members_.size(); ++i) {
      if (!is_known[i]) members_[i].terms.push_back(*node.rest);
    }
  }

  std::vector<Member> members_;
  std::unordered_map<std::string_view, size_t> index_;
};

class ObjectCompiler {
 public:
  ObjectCompiler(const MergedSchema& schema, SchemaContext& context)
      : schema_(schema), context_(context), rules_(context.rules), pieces_(context.pieces) {}

  ExprId compile() {
    std::vector<Member> all = std::move(MemberList(schema_, context_.cases).members());
    std::vector<std::string_view> names;
    for (const Member& member : all) names.push_back(member.name);
    for (Member& member : all) {
      if (!context_.cases.conjunction(member.terms).is_false) {
        members_.push_back(std::move(member));
      } else if (member.is_required) {
        return rules_.never();
      }
    }
    OtherNames others(schema_, names, context_);
    others_ = &others;
    count_ = schema_.members_count;
    if (count_.max && *count_.max < count_.min) return rules_.never();
    const auto required =
        std::count_if(members_.begin(), members_.end(), [](const Member& m) { return m.is_required; });
    const bool is_closed = rules_.expr(other(0)).kind == ExprKind::kNever;
    if (count_.min <= required) count_.min = 0;
    if (is_closed && count_.max && *count_.max >= static_cast<int64_t>(members_.size())) count_.max.reset();
    if (count_.max && *count_.max < required) return rules_.never();
    if (is_closed && count_.min > static_cast<int64_t>(members_.size())) return rules_.never();
    if (count_.max == 0) return duties() ? rules_.never() : pieces_.enclosed('{', rules_.empty(), '}');
    last_count_ = count_.max.value_or(std::max<int64_t>(1, count_.min));
    if (schema_.some_members.size() > kMaxDuties) {
      throw schema_error(*schema_.source,
                         cat("more than ", kMaxDuties, " conditions on some member together are not supported"));
    }
    const auto size = static_cast<int64_t>(members_.size()) + 1;
    if (last_count_ > kMaxStates / size / static_cast<int64_t>(duties() + 1)) {
      throw schema_error(*schema_.source, "minProperties and maxProperties as large as these are not supported");
    }
    return context_.order == MemberOrder::kAny ? compile_any_order() : compile_in_order();
  }

 private:
  // Each some_member is a duty until a member does it: bits.
  size_t duties() const { return (size_t{1} << schema_.some_members.size()) - 1; }

  ExprId named(const Member& member, size_t done) {
    std::vector<Term> terms = member.terms;
    for (size_t i = 0; i < schema_.some_members.size(); ++i) {
      if (!(done >> i & 1)) continue;
      const SchemaNode& node = *schema_.some_members[i];
      if (!context_.cases.holds(node.terms[0], {nullptr, member.name})) return rules_.never();
      terms.push_back(node.terms[1]);
    }
    if (context_.cases.conjunction(terms).is_false) return rules_.never();
    const ExprId value = context_.value(terms);
    const auto [known, is_new] = context_.members.try_emplace({member.name, rules_.expr(value).rule}, 0);
    if (!is_new) return known->second;
    const ExprId name = rules_.bytes(JsonPieces::quoted(member.name));
    return known->second = rules_.outline(cat("member '", member.name, "' of ", schema_.source->place()),
                                          rules_.sequence({name, pieces_.mark(':'), value}));
  }

  ExprId other(size_t done) {
    const auto [entry, is_new] = other_.try_emplace(done, 0);
    if (!is_new) return entry->second;
    std::vector<Term> names, values;
    for (size_t i = 0; i < schema_.some_members.size(); ++i) {
      if (!(done >> i & 1)) continue;
      names.push_back(schema_.some_members[i]->terms[0]);
      values.push_back(schema_.some_members[i]->terms[1]);
    }
    const ExprId member = others_->member(names, values);
    const bool is_never = rules_.expr(member).kind == ExprKind::kNever;
    return other_[done] = is_never ? member : rules_.outline(cat("other members of ", schema_.source->place()), member);
  }

  // Named members in order, any of the optional ones left out; then the others. A rule for each place in that order,
  // number of members so far, and duties left.
  ExprId compile_in_order() {
    const size_t counts = static_cast<size_t>(last_count_) + 1, kinds = duties() + 1;
    const std::string name = cat("members of ", schema_.source->place());
    std::vector<RuleId> behind(counts * kinds), here(counts * kinds);
    const auto at = [&](int64_t count, size_t left) { return static_cast<size_t>(count) * kinds + left; };
    for (RuleId& rule : behind) rule = rules_.add_rule(name);
    const auto next_count = [&](int64_t count) { return std::min(count + 1, last_count_); };
    const auto comma = [&](int64_t count) { return count > 0 ? pieces_.mark(',') : rules_.empty(); };
    const auto has_room = [&](int64_t count) { return !count_.max || count < *count_.max; };
    for (int64_t count = 0; count <= last_count_; ++count) {
      for (size_t left = 0; left < kinds; ++left) {
        std::vector<ExprId> options;
        if (left == 0 && count >= count_.min) options.push_back(rules_.empty());
        bool is_loop = false;
        for (size_t done = 0; done < kinds && has_room(count); ++done) {
          if (done & ~left) continue;
          const size_t to = at(next_count(count), left & ~done);
          if (to == at(count, left)) {
            is_loop = true;
          } else {
            options.push_back(rules_.sequence({comma(count), other(done), rules_.call(behind[to])}));
          }
        }
        ExprId body = rules_.choice(std::move(options));
        if (is_loop) {
          body = rules_.sequence({rules_.repeat(rules_.sequence({comma(count), other(0)}), 0, std::nullopt), body});
        }
        rules_.define(behind[at(count, left)], body);
      }
    }
    for (size_t i = members_.size(); i-- > 0;) {
      const Member& member = members_[i];
      std::vector<ExprId> written;
      for (size_t done = 0; done < kinds; ++done) written.push_back(named(member, done));
      for (int64_t count = 0; count <= last_count_; ++count) {
        for (size_t left = 0; left < kinds; ++left) {
          std::vector<ExprId> options;
          for (size_t done = 0; done < kinds && has_room(count); ++done) {
            if (done & ~left) continue;
            const size_t to = at(next_count(count), left & ~done);
            options.push_back(rules_.sequence({comma(count), written[done], rules_.call(behind[to])}));
          }
          if (!member.is_required) options.push_back(rules_.call(behind[at(count, left)]));
          here[at(count, left)] = rules_.add_rule(name);
          rules_.define(here[at(count, left)], rules_.choice(std::move(options)));
        }
      }
      std::swap(here, behind);
    }
    return pieces_.enclosed('{', rules_.call(behind[at(0, duties())]), '}');
  }

  // All members are called by one rule, whose marks see to it that none comes twice and none is missing. So is each
  // duty a mark. Counted are the members that are not required.
  ExprId compile_any_order() {
    std::vector<uint32_t> wanted;
    std::vector<ExprId> required_first, required_later, free_first, free_later;
    const auto add = [&](ExprId written, std::vector<uint32_t> marks, size_t done, bool is_required) {
      if (rules_.expr(written).kind == ExprKind::kNever) return;
      for (size_t i = 0; i < schema_.some_members.size(); ++i) {
        if (done >> i & 1) marks.push_back(static_cast<uint32_t>(members_.size() + i));
      }
      const auto once = [&](ExprId expr) {
        const RuleId rule = rules_.add_rule(cat("member of ", schema_.source->place()));
        rules_.define(rule, expr);
        return marks.empty() ? rules_.call(rule) : rules_.call_once(rule, marks);
      };
      (is_required ? required_first : free_first).push_back(once(written));
      (is_required ? required_later : free_later).push_back(once(rules_.sequence({pieces_.mark(','), written})));
    };
    for (size_t done = 0; done <= duties(); ++done) {
      for (uint32_t i = 0; i < members_.size(); ++i) add(named(members_[i], done), {i}, done, members_[i].is_required);
      add(other(done), {}, done, false);
    }
    for (uint32_t i = 0; i < members_.size(); ++i) {
      if (members_[i].is_required) wanted.push_back(i);
    }
    const auto required = static_cast<int64_t>(wanted.size());
    for (uint32_t i = 0; i < schema_.some_members.size(); ++i) {
      wanted.push_back(static_cast<uint32_t>(members_.size()) + i);
      // Members are not known to come that could still do it, unless others may.
      const bool is_possible = rules_.expr(other(size_t{1} << i)).kind != ExprKind::kNever;
      if (is_possible && !count_.max) continue;
      throw schema_error(*schema_.some_members[i]->source,
                         "this condition on some member is not supported in any order");
    }
    const int64_t least = std::max<int64_t>(0, count_.min - required);
    const int64_t last = count_.max ? *count_.max - required : least;
    // behind[n]: what follows n members that are not required, and at least one in all.
    const ExprId any_required = rules_.repeat(rules_.choice(required_later), 0, std::nullopt);
    const ExprId any_free = rules_.choice(free_later);
    std::vector<ExprId> behind(static_cast<size_t>(last) + 1);
    for (int64_t n = last; n >= 0; --n) {
      ExprId& at = behind[static_cast<size_t>(n)];
      if (n == last && !count_.max) {
        at = rules_.repeat(rules_.choice({rules_.choice(required_later), any_free}), 0, std::nullopt);
      } else {
        ExprId more = n < last ? rules_.sequence({any_free, behind[static_cast<size_t>(n) + 1]}) : rules_.never();
        if (n >= least) more = rules_.optional(more);
        at = rules_.sequence({any_required, more});
      }
    }
    std::vector<ExprId> body = {rules_.sequence({rules_.choice(required_first), behind[0]})};
    if (last > 0 || !count_.max) {
      body.push_back(
          rules_.sequence({rules_.choice(free_first), behind[static_cast<size_t>(std::min<int64_t>(last, 1))]}));
    }
    if (least == 0 && wanted.empty()) body.push_back(rules_.empty());
    const RuleId rule = rules_.add_rule(cat("members of ", schema_.source->place()));
    rules_.define(rule, pieces_.enclosed('{', rules_.choice(std::move(body)), '}'));
    rules_.require_marks(rule, std::move(wanted));
    return rules_.call(rule);
  }

  const MergedSchema& schema_;
  SchemaContext& context_;
  RuleSet& rules_;
  JsonPieces& pieces_;
  std::vector<Member> members_;
  OtherNames* others_ = nullptr;
  std::unordered_map<size_t, ExprId> other_;
  Count count_;
  int64_t last_count_ = 1;  // more members count like so many
};

}  // namespace

ExprId compile_object(const MergedSchema& schema, SchemaContext& context) {
  return ObjectCompiler(schema, context).compile();
}

}  // namespace wick::grammar
