// Replica: an engine that generates, with seats for samples and a queue of its own. Iterations that
// are alike are one run, until a sample is through, a table's knot, or a cut. Trade-off: KV is
// counted in tokens, not blocks.
#pragma once

#include <deque>
#include <unordered_map>
#include <vector>

#include "post_training/job.hpp"
#include "post_training/pieces.hpp"

namespace yantra::post_training {

// Where a sample is, while it has no seat.
struct Progress {
    GroupId group;
    u32 turn = 0;
    u32 known = 0;       // tokens of prompt, output and tools so far
    u32 left = 0;        // tokens to make in its turn
    u32 held = 0;        // tokens whose KV was there
    u32 epoch = none;    // of its replica in which that is so; else it is lost
};

struct Work {
    u64 tokens = 0;       // made
    u64 recomputed = 0;   // whose KV was there before
    u64 preempted = 0;    // samples that lost their seat
    serving::Amounts amounts;
};

class Replica {
public:
    Replica(const Job& job, IdVector<SampleId, Progress>& progress, Pieces& pieces)
        : job_(&job), progress_(&progress), pieces_(&pieces) {}

    bool is_busy() const { return is_busy_; }
    Time begin() const { return begin_; }
    Time end() const { return begin_ + pace_.total(count_); }
    u32 seated() const { return static_cast<u32>(decoding_.size() + prefilling_.size()); }
    std::size_t waiting() const { return queue_.size(); }
    const Work& work() const { return work_; }

    void queue(SampleId sample, GroupId group) { queue_.push_back({sample, group}); }
    bool may_sit(SampleId sample, GroupId group) const;
    // Between iterations.
    void sit(SampleId sample, GroupId group);
    // From its own queue; those who sit are added.
    void fill(std::vector<SampleId>& sat);

    // A run of iterations; false if nobody has a seat.
    bool start(Time now, u32 version);
    // It is over; samples with the last token of their turn are added.
    void ends(std::vector<SampleId>& finished);
    // The run ends with the iteration under way; false if that is over already, at `now`.
    bool cut(Time now);
    // All who have a seat, behind the iteration under way.
    void lose_kv();
    // The job is over: what was made counts.
    void stop(Time now);

private:
    struct Prefill {
        SampleId sample;
        GroupId group;
        u32 tokens;    // to compute
        u32 held;      // computed
        u32 lost;      // computed before, and to be computed again
        u64 order;     // in which seats were taken
        u32 chunk;     // in this iteration
    };
    struct Decode {
        u64 finish;    // iterations of the replica when it is through
        SampleId sample;
        GroupId group;
        u32 known;     // tokens then
        u64 entered;   // the iteration of its first token here
        u64 order;

        bool operator>(const Decode& other) const {
            return finish != other.finish ? finish > other.finish : sample > other.sample;
        }
        u32 known_at(u64 clock) const { return known - static_cast<u32>(finish - clock); }
        // Tokens of KV before each iteration, less the iterations until then.
        i64 offset() const { return static_cast<i64>(known) - static_cast<i64>(finish) - 1; }
    };
    struct Queued {
        SampleId sample;
        GroupId group;
    };
    struct Mark {
        u64 clock;
        u32 version;
    };

    u64 held() const { return static_cast<u64>(offsets_ + static_cast<i64>(decoding_.size() * clock_)); }
    void make_room();
    void preempt();
    void plan();
    void emit(const Prefill& from, std::vector<SampleId>& finished);
    Decode take_decoding(std::size_t at);
    void finish(const Decode& of, std::vector<SampleId>& finished);
    void give_up(const Decode& of);
    void leave(GroupId group, u32 known);
    void compute_anew();
    void note(const Decode& of);

    const Job* job_;
    IdVector<SampleId, Progress>* progress_;
    Pieces* pieces_;
    std::deque<Queued> queue_;
    std::deque<Prefill> prefilling_;   // in the order in which they are computed
    std::vector<Decode> decoding_;     // a heap, first who is through first
    std::vector<Mark> marks_;          // versions, from which iteration on
    std::unordered_map<u32, u32> sharing_;   // groups whose prompt is there, and their seats
    i64 offsets_ = 0;                  // of those who decode
    u64 used_ = 0;                     // tokens of KV
    u64 clock_ = 0;                    // iterations that are over
    u64 seats_taken_ = 0;              // ever
    Time begin_ = 0;
    serving::Pace pace_;
    u64 count_ = 0;                    // iterations of the run
    serving::Batch batch_;
    Work work_;
    u32 epoch_ = 0;                    // grows when all KV is lost
    bool is_busy_ = false;
    bool loses_kv_ = false;
};

}  // namespace yantra::post_training
