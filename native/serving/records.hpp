// Records: iterations, and the state of replicas over time, as asked for.
#pragma once

#include "serving/replica.hpp"

namespace yantra::serving {

// A logged iteration, of one lane.
struct LoggedIteration {
    Time begin;
    Time end;
    TargetId target;
    u32 first_item;
    u32 items;
};

struct Sample {
    Time time;
    u32 replica;
    u32 waiting;
    u32 running;
    u64 kv_tokens;
    u64 batch_tokens;
};

class Records {
public:
    Records(u64 most_logged, bool samples) : most_logged_(most_logged), has_samples_(samples) {}

    const std::vector<LoggedIteration>& log() const { return log_; }
    const std::vector<Item>& items() const { return items_; }
    const std::vector<Sample>& samples() const { return samples_; }

    // Iterations that have ended.
    void note(const Replica& of);
    void note(const Replica& of, const Replica::Flight& flight);
    // Where many come, half as many are kept.
    void sample(Time now, u32 number, const Replica& of);

private:
    static constexpr std::size_t most_samples = std::size_t{1} << 16U;

    u64 most_logged_;
    bool has_samples_;
    u32 every_ = 1;
    u32 until_next_ = 1;
    std::vector<LoggedIteration> log_;
    std::vector<Item> items_;
    std::vector<Sample> samples_;
};

}  // namespace yantra::serving
