#include "collective/themis.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.hpp"

namespace yantra {

namespace {

constexpr double mebibyte = 1048576.0;
constexpr u64 threshold_divisor = 16;  // Themis, section 4: chunk / 16 on the least loaded dimension

}  // namespace

Themis::Themis(std::vector<Along> dimensions, u32 members, bool flexible)
    : dimensions_(std::move(dimensions)), members_(members), flexible_(flexible) {
    for (u32 d = 0; d < dimensions_.size(); ++d) {
        table_.push_back({0.0, d});
    }
}

void Themis::collective_starts(u64 now) {
    if (now == last_start_) {
        return;
    }
    last_start_ = now;
    for (u32 d = 0; d < dimensions_.size(); ++d) {
        table_[d] = {0.0, d};
    }
}

ThemisDecision Themis::choose(u64 id, u64 remaining, u64 recommended, CollectiveKind kind,
                              u64 involved) {
    auto known = memo_.find(id);
    if (known == memo_.end()) {
        const bool gather = kind == CollectiveKind::all_gather;
        next_ = std::max(next_, id + 1);
        known = memo_.emplace(id, Memo{decide(remaining, recommended, gather, involved), 0}).first;
    }
    ThemisDecision decision = known->second.decision;
    if (++known->second.consumers == members_) {
        memo_.erase(known);
    }
    return decision;
}

bool Themis::takes_part(u32 dimension, u64 involved) const { return (involved >> dimension & 1) != 0; }

ThemisDecision Themis::decide(u64 remaining, u64 recommended, bool gather, u64 involved) {
    std::stable_sort(table_.begin(), table_.end(),
                     [](const Load& a, const Load& b) { return a.value < b.value; });
    if (gather) {
        std::reverse(table_.begin(), table_.end());
    }
    ThemisDecision decision;
    decision.bytes = flexible_ ? 0 : std::min(remaining, recommended);
    u64 chunk = recommended;
    bool first = true;
    for (u32 p = 0; p < table_.size(); ++p) {
        const u32 dimension = table_[p].dimension;
        if (!takes_part(dimension, involved)) {
            decision.order.push_back(dimension);
            continue;
        }
        if (first) {
            first = false;
            const u64 bytes = balancing_bytes(p, gather, involved);
            if (bytes < (flexible_ ? recommended : recommended / threshold_divisor)) {
                const u64 taken = flexible_ ? std::min(remaining, recommended) : decision.bytes;
                return in_plain_order(remaining, flexible_ ? taken : recommended, taken, gather,
                                      involved);
            }
            if (flexible_) {
                chunk = bytes;
                decision.bytes = std::min(remaining, bytes);
            }
        }
        decision.order.push_back(dimension);
        add(table_[p], dimension, chunk, gather);
    }
    return decision;
}

// For a gather upstream reverses the table but not the dimensions, so entry and dimension disagree;
// kept.
ThemisDecision Themis::in_plain_order(u64, u64 chunk, u64 taken, bool gather, u64 involved) {
    std::sort(table_.begin(), table_.end(),
              [](const Load& a, const Load& b) { return a.dimension < b.dimension; });
    if (gather) {
        std::reverse(table_.begin(), table_.end());
    }
    ThemisDecision decision;
    decision.bytes = taken;
    for (u32 d = 0; d < table_.size(); ++d) {
        decision.order.push_back(d);
        if (takes_part(d, involved)) {
            add(table_[d], d, chunk, gather);
        }
    }
    return decision;
}

u64 Themis::balancing_bytes(u32 first, bool gather, u64 involved) const {
    const double base = table_[first].value;
    if (!gather) {
        return bytes_for(std::fabs(table_.back().value - base), table_[first].dimension, gather);
    }
    u32 last = static_cast<u32>(table_.size()) - 1;
    while (!takes_part(table_[last].dimension, involved)) {
        --last;
    }
    u64 bytes = bytes_for(std::fabs(table_[last].value - base), table_[last].dimension, gather);
    for (u32 p = last; p-- > first;) {
        if (takes_part(table_[p].dimension, involved)) {
            bytes /= dimensions_[table_[p].dimension].size;
        }
    }
    return bytes;
}

u64 Themis::bytes_for(double load, u32 dimension, bool gather) const {
    const double n = dimensions_[dimension].size;
    const double relative = dimensions_[dimension].weight / dimensions_[0].weight;
    const double share = gather ? n - 1.0 : (n - 1.0) / n;
    return TimeScale::truncate(load * relative / share * mebibyte);
}

void Themis::add(Load& load, u32 dimension, u64& chunk, bool gather) const {
    const u32 n = dimensions_[dimension].size;
    const double relative = dimensions_[dimension].weight / dimensions_[0].weight;
    const double size = static_cast<double>(chunk) / mebibyte;
    const double share = gather ? n - 1.0 : (n - 1.0) / n;
    load.value += size * share / relative;
    chunk = gather ? chunk * n : chunk / n;
}

}  // namespace yantra
