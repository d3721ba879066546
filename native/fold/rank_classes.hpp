// RankClasses: each rank's class during the search, and why ranks were divided.
#pragma once

#include <utility>
#include <vector>

#include "base/types.hpp"

namespace yantra {

enum class Difference : u8 { graph, peers, plan, position, neighbours, distance, exchange, links };

struct Split {
    u32 rank = none;
    u32 other = none;
    Difference difference = Difference::graph;
    u32 communicator = none;   // in which they differ, if any
    u32 classes = 0;           // how many after the round that found it
};

class RankClasses {
public:
    RankClasses(std::vector<u32> class_of, u32 count)
        : class_of_(std::move(class_of)), count_(count) {}

    u32 of(u32 rank) const { return class_of_[rank]; }
    const std::vector<u32>& by_rank() const { return class_of_; }
    u32 ranks() const { return static_cast<u32>(class_of_.size()); }
    u32 count() const { return count_; }

    // Nobody reads more reasons than this.
    bool wants_more_splits() const { return splits_.size() < 1000; }
    void note(const Split& split) { splits_.push_back(split); }
    const std::vector<Split>& splits() const { return splits_; }

    void replace(std::vector<u32> class_of, u32 count) {
        class_of_ = std::move(class_of);
        count_ = count;
        date_splits();
    }
    void date_splits() {
        for (; dated_ < splits_.size(); ++dated_) {
            splits_[dated_].classes = count_;
        }
    }

private:
    std::vector<u32> class_of_;   // by rank
    u32 count_;
    std::vector<Split> splits_;
    std::size_t dated_ = 0;       // splits whose number of classes is known
};

}  // namespace yantra
