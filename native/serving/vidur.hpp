// What Vidur's schedulers have in common (7d47513, vidur/scheduler/replica_scheduler): a new
// request takes the blocks of its whole prompt if the watermark stays free; one that runs wants to
// see a free block.
#pragma once

#include "serving/queued.hpp"

namespace yantra::serving {

class VidurEngine : public QueuedEngine {
protected:
    VidurEngine(const Place& place, const EngineKind& kind, const EngineOptions& given)
        : QueuedEngine(place, whole(kind, given, "num_blocks"), whole(kind, given, "block_size"), InFlight::apart),
          seats_(whole(kind, given, "max_num_seqs")), seats_of_batch_(std::max(1U, seats_ / place.stages)),
          watermark_(static_cast<u32>(option_of(kind, given, "watermark") * kv_.total())) {}

    u32 spare() const override { return 1; }

    bool fits_new(u32 tokens) const { return kv_.free() >= u64{kv_.blocks_for(tokens)} + watermark_; }
    bool has_seat(const Batch& batch) const {
        return sequences_here() < seats_ && batch.items.size() < seats_of_batch_;
    }
    bool is_full(const Batch& batch) const { return batch.items.size() == seats_of_batch_; }

    // False if it began anew itself.
    bool makes_room(std::vector<RequestId>& running, std::size_t at, Time now) {
        const RequestId request = running[at];
        while (kv_.free() == 0) {
            const RequestId victim = running.back();
            running.pop_back();
            restarts(victim, now);
            if (victim == request) {
                return false;
            }
        }
        ensure(kv_.hold(request, sequences_[request].computed + 1), "the block that is free");
        return true;
    }
    virtual void restarts(RequestId request, Time now) { begins_anew(request, now); }

    bool came_before(RequestId a, RequestId b) const {
        return ledger_.entries()[a].arrival < ledger_.entries()[b].arrival;
    }

private:
    u32 seats_;
    u32 seats_of_batch_;
    u32 watermark_;
};

inline std::vector<EngineOption> vidur_options() {
    return {
        {"num_blocks", 4096, 1, "blocks of KV"},
        {"block_size", 16, 1, "tokens of a block"},
        {"max_num_seqs", 128, 1, "sequences that run at once"},
        {"watermark", 0.01, 0, "share of the blocks that stays free when a request enters"},
    };
}

}  // namespace yantra::serving
