// Trainer: the phases of a step, one after the other, and the mini-batches that it trained.
#pragma once

#include <vector>

#include "post_training/buffer.hpp"

namespace yantra::post_training {

enum class Phase : u8 { wait, cut, switching, logp, ref, train, stop, refit, back };

// By mini-batch; groups and staleness have a first place each, and one more.
struct MinibatchColumns {
    std::vector<i64> step;
    std::vector<i64> start;
    std::vector<i64> end;
    std::vector<i64> version;
    std::vector<i64> group_begin{0};
    std::vector<i64> groups;
    std::vector<i64> stale_begin{0};
    std::vector<i64> stale;
};

struct StepColumns {
    std::vector<Time> taken;
    std::vector<Time> ended;
};

class Trainer {
public:
    Trainer(const Job& job, const Pieces& pieces) : job_(&job), pieces_(&pieces) {}

    Phase phase() const { return phase_; }
    bool is_timed() const { return phase_ != Phase::wait && phase_ != Phase::cut && phase_ != Phase::stop; }
    Time ends() const { return is_timed() ? ends_ : end_of_time; }
    u32 trained() const { return trained_; }   // mini-batches
    u32 installed() const { return installed_; }   // the version that generates
    u32 steps_done() const { return static_cast<u32>(steps_.ended.size()); }
    const MinibatchColumns& columns() const { return columns_; }
    const StepColumns& steps() const { return steps_; }
    std::vector<GroupId>& batch() { return batch_; }   // the step's

    // The phase is over, and the next begins.
    void next(Time now, Buffer& buffer);

private:
    Phase following() const;
    Time length(Time now, Buffer& buffer);
    void begin_minibatch(Time now, Buffer& buffer);
    Sizes sizes_of(std::size_t begin, std::size_t end) const;

    const Job* job_;
    const Pieces* pieces_;
    Phase phase_ = Phase::wait;
    Time ends_ = 0;
    std::vector<GroupId> batch_;
    u32 in_step_ = 0;   // mini-batches of the step that began
    u32 trained_ = 0;
    u32 installed_ = 0;
    StepColumns steps_;
    MinibatchColumns columns_;
};

}  // namespace yantra::post_training
