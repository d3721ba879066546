// Tiers: where content goes that a prefix cache gives up, the longest unused first; read into a
// block of the device while layers run. Trade-off: writing takes no time, and a tier is read whole
// or not at all by one request.
#pragma once

#include <list>
#include <unordered_map>
#include <vector>

#include "serving/asked/ids.hpp"

namespace yantra::serving {

// Contents of at most `most` blocks.
class Tier {
public:
    explicit Tier(u32 most) : most_(most) {}

    bool has(u64 content) const { return places_.contains(content); }
    void touch(u64 content) { order_.splice(order_.end(), order_, places_.at(content)); }
    // Whether it gave up another, then in `lost`.
    bool put(u64 content, u64& lost) {
        if (most_ == 0) {
            lost = content;
            return true;
        }
        if (has(content)) {
            touch(content);
            return false;
        }
        places_[content] = order_.insert(order_.end(), content);
        if (order_.size() <= most_) {
            return false;
        }
        lost = order_.front();
        places_.erase(lost);
        order_.pop_front();
        return true;
    }
    std::size_t size() const { return order_.size(); }

private:
    u32 most_;
    std::list<u64> order_;   // the one used longest ago first
    std::unordered_map<u64, std::list<u64>::iterator> places_;
};

class Tiers {
public:
    struct Level {
        Tier* tier;
        Time per_block;
    };

    void add(Tier* tier, Time per_block) { levels_.push_back({tier, per_block}); }
    bool empty() const { return levels_.empty(); }
    void put(u64 content) {
        for (const Level& level : levels_) {
            if (u64 lost = 0; level.tier->put(content, lost)) {
                content = lost;
            } else {
                return;
            }
        }
    }
    // `no_time` if no tier has it.
    Time find(u64 content) const {
        for (const Level& level : levels_) {
            if (level.tier->has(content)) {
                return level.per_block;
            }
        }
        return no_time;
    }
    void touch(u64 content) {
        for (const Level& level : levels_) {
            if (level.tier->has(content)) {
                return level.tier->touch(content);
            }
        }
    }

private:
    std::vector<Level> levels_;   // the quickest first
};

}  // namespace yantra::serving
