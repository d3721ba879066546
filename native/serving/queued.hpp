// QueuedEngine: what engines have in common whose requests wait in a queue, then run on counted
// blocks. No prefix cache.
#pragma once

#include <algorithm>
#include <deque>

#include "base/ensure.hpp"
#include "serving/engine.hpp"
#include "serving/kv/paged.hpp"
#include "serving/waiting.hpp"

namespace yantra::serving {

// Where those are that a pipeline works on when the next batch is planned.
enum class InFlight : u8 { never, apart, running };

class QueuedEngine : public Engine {
public:
    QueuedEngine(const Place& place, u32 blocks, u32 block_size, InFlight in_flight = InFlight::never)
        : Engine(place, {false, in_flight != InFlight::never}), kv_(place.requests, blocks, block_size, false),
          reasons_(place.ledger), stages_(place.stages), in_flight_(in_flight) {}

    void accepts(RequestId request, Time now) override {
        sequences_[request].computed = sequences_[request].kept;
        waiting_.push_back(request);
        if (ledger_.entries()[request].phase == Phase::queued) {
            reasons_.arrives(request, now);
        }
    }

    void plans(Time now, Batch& batch) override {
        reasons_.plans(now);
        has_changed_ = false;
        fills(now, batch);
        if (stages_ > 1) {
            fly(batch);
        }
    }

    u64 alike(const Batch& batch, const Batch& /*ahead*/) override {
        if (has_changed_ || !batch.only_decodes() || batch.items.size() != running_.size()) {
            return 1;
        }
        u64 most = ~u64{0};
        for (const Item& item : batch.items) {
            most = std::min<u64>(most, requests_.output[item.request] - sequences_[item.request].emitted);
        }
        return most == 1 ? 1 : until_blocks_end(batch, most);
    }

    void ends(const Batch& batch, const Ended& when) override {
        for (const Item& item : batch.items) {
            Sequence& of = sequences_[item.request];
            of.computed += item.tokens + static_cast<u32>(when.count - 1);
            if (when.count > 1) {
                ensure(kv_.hold(item.request, of.computed), "blocks that were counted");
            }
            if (item.emits) {
                emit(item.request, of, when);
            }
        }
        if (stages_ > 1) {
            land(batch);
        }
        if (has_ended_) {
            erase_if(running_, [this](RequestId request) { return is_over(request); });
            has_ended_ = false;
        }
    }

    void releases(RequestId request) override { kv_.forget(request); }

    std::vector<RequestId> loses_all(Time now) override {
        reasons_.plans(now);
        std::vector<RequestId> lost;
        running_.insert(running_.begin(), away_.begin(), away_.end());
        away_.clear();
        for (const RequestId request : running_) {
            ledger_.is_preempted(request, now, sequences_[request].computed);
            gives_up(request);
            lost.push_back(request);
        }
        for (const RequestId request : waiting_) {
            if (ledger_.entries()[request].phase == Phase::queued) {
                reasons_.starts(request);
            }
            lost.push_back(request);
        }
        for (const RequestId request : lost) {
            sequences_[request].computed = sequences_[request].kept = sequences_[request].flying = 0;
        }
        running_.clear();
        waiting_.clear();
        return lost;
    }

    Load load() const override {
        return {waiting_.size(), sequences_here(), u64{kv_.total() - kv_.free()} * kv_.size(),
                u64{kv_.total()} * kv_.size()};
    }

protected:
    static u32 whole(const EngineKind& kind, const EngineOptions& given, std::string_view name) {
        return static_cast<u32>(option_of(kind, given, name));
    }

    // Fills an empty batch.
    virtual void fills(Time now, Batch& batch) = 0;
    virtual void gives_up(RequestId request) { kv_.forget(request); }
    virtual u32 spare() const { return 0; }

    RequestId start_first(Time now) {
        const RequestId request = waiting_.front();
        waiting_.pop_front();
        if (ledger_.entries()[request].phase == Phase::queued) {
            reasons_.starts(request);
        }
        ledger_.starts(request, now, 0);
        running_.push_back(request);
        has_changed_ = true;
        return request;
    }
    void add(Batch& batch, RequestId request, u32 tokens) const {
        add(batch, request, tokens, sequences_[request].computed + tokens >= known_tokens(request));
    }
    void add(Batch& batch, RequestId request, u32 tokens, bool emits) const {
        const Sequence& of = sequences_[request];
        batch.add({request, tokens, of.computed, of.emitted > 0 && of.computed + 1 >= known_tokens(request), emits});
    }
    // It loses its KV and waits at the head.
    void begins_anew(RequestId request, Time now) {
        ledger_.is_preempted(request, now, sequences_[request].computed);
        kv_.give_back(request);
        sequences_[request].computed = sequences_[request].kept = 0;
        waiting_.push_front(request);
        has_changed_ = true;
    }
    std::size_t sequences_here() const { return running_.size() + away_.size(); }
    bool is_over(RequestId request) const {
        const Sequence& of = sequences_[request];
        return of.emitted >= requests_.output[request] || (of.moves && of.emitted > 0);
    }
    u32 missing(RequestId request) const { return known_tokens(request) - sequences_[request].computed; }

    PagedKv kv_;
    WaitReasons reasons_;
    u32 stages_;
    std::deque<RequestId> waiting_;
    std::vector<RequestId> running_;   // in an order that is the engine's

private:
    void fly(const Batch& batch) {
        for (const Item& item : batch.items) {
            sequences_[item.request].flying = item.tokens;
            if (in_flight_ == InFlight::apart) {
                away_.push_back(item.request);
            }
        }
        if (in_flight_ == InFlight::apart) {
            erase_if(running_, [this](RequestId request) { return sequences_[request].flying > 0; });
        }
    }
    void land(const Batch& batch) {
        for (const Item& item : batch.items) {
            sequences_[item.request].flying = 0;
            if (in_flight_ == InFlight::apart && !is_over(item.request)) {
                running_.push_back(item.request);
            }
        }
        erase_if(away_, [this](RequestId request) { return sequences_[request].flying == 0; });
    }
    void emit(RequestId request, Sequence& of, const Ended& when) {
        of.emitted += static_cast<u32>(when.count);
        ledger_.emits(request, when, when.count);
        if (of.emitted >= requests_.output[request]) {
            ledger_.finishes(request, when.last);
            gives_up(request);
            has_ended_ = true;
        } else if (of.moves) {   // its blocks stay until it is there
            ledger_.is_prefilled(request, when.last);
            has_ended_ = true;
        }
    }
    // Until one has fewer blocks than it wants. The first has its blocks.
    u64 until_blocks_end(const Batch& batch, u64 most) {
        const u32 size = kv_.size();
        begins_.assign(size, 0);   // sequences whose next block begins in so many iterations, modulo its size
        u64 growing = 0;
        for (const Item& item : batch.items) {
            const u64 room = u64{kv_.held(item.request)} * size - item.context;
            if (room < most) {
                ++begins_[room % size];
                ++growing;
            }
        }
        if (growing == 0 && spare() == 0) {
            return most;
        }
        if (spare() > kv_.free()) {
            return 1;
        }
        u64 left = kv_.free() - spare();
        const u64 rounds = growing == 0 ? (most - 1) / size : std::min((most - 1) / size, left / growing);
        left -= rounds * growing;
        u64 count = 1 + rounds * size;
        for (; count < most && begins_[count % size] <= left; ++count) {
            left -= begins_[count % size];
        }
        return count;
    }

    InFlight in_flight_;
    std::vector<RequestId> away_;   // in flight, where they are apart
    bool has_changed_ = false;   // who runs and who waits, by this plan: the next may differ
    bool has_ended_ = false;
    std::vector<u32> begins_;
};

}  // namespace yantra::serving
