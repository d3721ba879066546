// Ledger: when what happened to each request: always one phase, so they add up to its time exactly.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include <vector>
#include "serving/asked/batch.hpp"
#include "serving/asked/requests.hpp"

namespace yantra::serving {

enum class Phase : u8 {
    absent,      // not there yet, or over
    queued,      // until it starts
    prefill,     // until its first token
    transfer,    // its KV moves to another engine
    admission,   // there it waits for a seat and blocks
    decode,
    preempted,   // it has lost its KV and waits
    recompute,   // until it emits again
};
inline constexpr std::size_t phase_count = 8;

enum class Obstacle : u8 {
    iteration,   // one is under way
    seats,       // no more sequences may run
    tokens,      // the iteration has as many tokens as it may
    blocks,      // no KV is free
    order,       // others come first, by the engine's rules
};
inline constexpr std::size_t obstacle_count = 5;

using Obstacles = std::array<Time, obstacle_count>;

struct Gaps {
    Time first;
    Time growth;
    u64 count;
    u64 sequences;
};

struct Ended {
    Time begin;
    Time first;   // the end of the first
    Time last;    // of the last
    Time growth;
    u64 count;
};

class Ledger {
public:
    struct Entry {
        Time arrival = no_time;
        Time start = no_time;
        Time first_token = no_time;
        Time second_token = no_time;
        Time moved = no_time;       // its KV is at another engine
        Time last_token = no_time;
        Time finish = no_time;
        u32 restarts = 0;
        u32 emissions = 0;          // iterations at whose end it emitted
        u64 cached = 0;             // tokens found in a cache
        u64 recomputed = 0;
        TargetId target;            // that had it last
        Phase phase = Phase::absent;
        Time since = 0;
        std::array<Time, phase_count> spent{};
        Obstacles behind{};         // while queued
    };

    explicit Ledger(const Requests& requests) : of_(requests.size()) {}

    const IdVector<RequestId, Entry>& entries() const { return of_; }
    const std::vector<Gaps>& gaps() const { return gaps_; }
    u64 finished() const { return finished_; }
    u64 tokens() const { return tokens_; }
    u64 emitted() const { return emitted_; }
    std::vector<RequestId>& just_finished() { return just_finished_; }
    std::vector<RequestId>& just_prefilled() { return just_prefilled_; }

    // At a place that another had.
    void begins(RequestId request) { of_[request] = {}; }
    std::vector<Gaps> take_gaps() { return std::exchange(gaps_, {}); }
    void arrives(RequestId request, Time now, TargetId target) {
        Entry& entry = of_[request];
        entry.target = target;
        if (entry.phase == Phase::absent) {
            entry.arrival = entry.since = now;
            entry.phase = Phase::queued;
        } else {
            enter(entry, entry.phase == Phase::transfer ? Phase::admission : Phase::preempted, now);
        }
    }
    void starts(RequestId request, Time now, u64 cached) {
        Entry& entry = of_[request];
        entry.cached += cached;
        if (entry.start == no_time) {
            entry.start = now;
            enter(entry, Phase::prefill, now);
        } else {
            enter(entry, entry.phase == Phase::admission ? Phase::decode : Phase::recompute, now);
        }
    }
    void waited(RequestId request, Obstacle behind, Time time) {
        of_[request].behind[static_cast<std::size_t>(behind)] += time;
    }
    void is_preempted(RequestId request, Time now, u64 lost) {
        Entry& entry = of_[request];
        ++entry.restarts;
        entry.recomputed += lost;
        enter(entry, Phase::preempted, now);
    }
    // With drafts, `tokens` at the only one.
    void emits(RequestId request, const Ended& when, u64 tokens) {
        Entry& entry = of_[request];
        emitted_ += tokens;
        entry.emissions += static_cast<u32>(when.count);
        if (entry.first_token == no_time) {
            entry.first_token = when.first;
        } else {
            if (entry.second_token == no_time) {
                entry.second_token = when.first;
            }
            add_gaps(entry, when);
        }
        entry.last_token = when.last;
        if (entry.phase != Phase::decode) {
            enter(entry, Phase::decode, when.first);
        }
    }
    void finishes(RequestId request, Time now) {
        Entry& entry = of_[request];
        entry.finish = now;
        enter(entry, Phase::absent, now);
        ++finished_;
        just_finished_.push_back(request);
    }
    void is_prefilled(RequestId request, Time now) {
        enter(of_[request], Phase::transfer, now);
        just_prefilled_.push_back(request);
    }
    void has_moved(RequestId request, Time now) { of_[request].moved = now; }
    void works(u64 tokens) { tokens_ += tokens; }

private:
    void enter(Entry& entry, Phase phase, Time now) {
        entry.spent[static_cast<std::size_t>(entry.phase)] += now - entry.since;
        entry.since = now;
        entry.phase = phase;
    }
    void add_gaps(const Entry& entry, const Ended& when) {
        const Time first = when.first - entry.last_token;
        const bool is_usual = first == when.first - when.begin;
        if (is_usual && !gaps_.empty() && when.begin == of_begin_ && gaps_.back().count == when.count) {
            ++gaps_.back().sequences;   // the same iterations, of another sequence
            return;
        }
        if (is_usual) {
            of_begin_ = when.begin;
            gaps_.push_back({first, when.growth, when.count, 1});
            return;
        }
        gaps_.push_back({first, 0, 1, 1});
        if (when.count > 1) {
            const Time second = when.first - when.begin + when.growth;
            gaps_.push_back({second, when.growth, when.count - 1, 1});
        }
        of_begin_ = no_time;
    }

    IdVector<RequestId, Entry> of_;
    std::vector<Gaps> gaps_;
    Time of_begin_ = no_time;
    std::vector<RequestId> just_finished_;
    std::vector<RequestId> just_prefilled_;
    u64 finished_ = 0;
    u64 tokens_ = 0;
    u64 emitted_ = 0;
};

}  // namespace yantra::serving
