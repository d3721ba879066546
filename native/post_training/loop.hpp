// Loop: rollouts and training on one clock. An instant does in this order, until nothing changes:
// iterations end, rewards end and start, groups are resolved, the trainer goes as far as it can,
// groups are submitted; then replicas start iterations.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <vector>

#include "post_training/feed.hpp"
#include "post_training/replica.hpp"
#include "post_training/rewards.hpp"
#include "post_training/spent.hpp"
#include "post_training/trainer.hpp"

namespace yantra::post_training {

struct SampleColumns {
    std::vector<Time> submitted;
    std::vector<Time> begun;
    std::vector<Time> finished;
    std::vector<Time> rewarded;
};

class Loop {
public:
    explicit Loop(const Job& job);

    // To the end of the last step; false if nothing can go on before.
    bool run();

    Time now() const { return now_; }
    const SampleColumns& samples() const { return samples_; }
    const Pieces& pieces() const { return pieces_; }
    const Buffer& buffer() const { return buffer_; }
    const Trainer& trainer() const { return trainer_; }
    const Spent& spent() const { return spent_; }
    const std::vector<Replica>& replicas() const { return replicas_; }

private:
    struct End {
        Time time;
        u32 replica;
        u32 serial;
        friend auto operator<=>(const End&, const End&) = default;
    };
    // The queue of all replicas.
    struct Shared {
        std::deque<SampleId> samples;
        bool has_grown = false;   // at this instant
    };
    // A sample whose tool works; it comes back to its replica.
    struct Away {
        Time time;
        SampleId sample;
        u32 replica;
        friend auto operator<=>(const Away&, const Away&) = default;
    };
    // A replica beside its place in the loop.
    struct Place {
        u32 serial = 0;   // of its run, so that an older end is known
        bool is_ready = false;
    };

    bool is_over() const { return trainer_.steps_done() == job_->steps; }
    bool is_stopped() const;
    bool is_halted() const;
    Time next();
    void pass(Time span);
    Cause cause() const;
    TrainerCause trainer_cause() const;

    bool end_runs();
    void end_run(u32 replica);
    void send_away(u32 replica, std::size_t first);
    bool come_back();
    bool reward();
    bool train();
    bool may_go_on() const;
    void enter();
    bool submit();
    void submit(GroupId group);
    u32 home_of(SampleId sample) const;
    void start_runs();
    void gather();
    void share();
    void cut(u32 replica);
    void make_ready(u32 replica);
    void stop();

    const Job* job_;
    Pieces pieces_;
    IdVector<SampleId, Progress> progress_;
    SampleColumns samples_;
    Buffer buffer_;
    Trainer trainer_;
    Rewards rewards_;
    Spent spent_;
    std::unique_ptr<Feed> feed_;
    std::vector<Replica> replicas_;
    std::vector<Place> places_;
    Shared shared_;
    std::priority_queue<End, std::vector<End>, std::greater<>> ends_;
    std::priority_queue<Away, std::vector<Away>, std::greater<>> away_;
    std::vector<u32> ready_;           // replicas that may start a run
    std::vector<u32> grown_;           // replicas whose queue grew
    std::vector<SampleId> met_;        // finished, rewarded or seated at this instant
    Time now_ = 0;
    u32 busy_ = 0;
    u64 unfinished_ = 0;   // submitted samples
};

}  // namespace yantra::post_training
