// Handover: threads that wait for each other, inferred. No trace records that the main thread sleeps
// while autograd runs the backward pass on another thread, or waits for a collective given to a
// worker. A thread is idle between operators and in annotation-only time ("## backward ##").
// Idleness is ended by the last of:
//
// 1. a burst of another thread's work wholly inside the idle time;
// 2. an autograd thread's backward operators of this thread's forward operators;
// 3. a collective this thread gave to a worker, if the idle time is much longer than usual and ended
//    soon after it.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "trace/replay/lanes.hpp"

namespace yantra::replay {

class Handover {
public:
    explicit Handover(Lanes& lanes) : lanes_(lanes), drafts_(lanes.drafts) {}

    void run();

    // The second half of a draft split around another thread's work, else the draft itself.
    std::uint32_t tail(std::uint32_t draft) const {
        return draft < tails_.size() && tails_[draft] != none ? tails_[draft] : draft;
    }
    std::uint32_t edges() const { return edges_; }

private:
    struct Cause {
        std::int64_t begin;  // of the other thread's work
        std::uint32_t last;  // its last draft
    };
    using MaybeCause = std::optional<Cause>;
    struct Work {
        std::vector<std::uint32_t> drafts;
        std::vector<std::int64_t> starts, ends;
        std::set<std::size_t> autograd;  // threads that run its backward operators
        std::vector<std::pair<std::int64_t, std::uint32_t>> jobs;
        std::int64_t long_ns = 0;
    };

    void read_flows();
    void index();
    bool may_be_idle(std::uint32_t draft) const;
    std::int64_t usual(std::size_t thread) const;
    template <class Visit>
    void each_gap(std::size_t thread, Visit visit) const;
    MaybeCause cause(std::size_t thread, std::int64_t start, std::int64_t end) const;
    MaybeCause later(const MaybeCause& one, const MaybeCause& other) const;
    static MaybeCause burst(const Work& work, std::int64_t start, std::int64_t end);
    static MaybeCause last_work(const Work& work, std::int64_t start, std::int64_t end);
    static MaybeCause job(const Work& work, std::int64_t start, std::int64_t end);
    void split(std::size_t thread);
    void resume(std::uint32_t draft, const MaybeCause& cause);

    Lanes& lanes_;
    Drafts& drafts_;
    std::vector<Work> work_;  // by thread
    std::vector<bool> halves_;
    std::vector<std::uint32_t> tails_;
    std::uint32_t edges_ = 0;
};

}  // namespace yantra::replay
