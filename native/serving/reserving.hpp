// ReservingEngine: each request reserves blocks for the longest sequence, `max_tokens` in whole
// blocks, as Vidur 7d47513 has Orca and FasterTransformer.
#pragma once

#include "serving/queued.hpp"

namespace yantra::serving {

class ReservingEngine : public QueuedEngine {
protected:
    ReservingEngine(const Place& place, const EngineKind& kind, const EngineOptions& given)
        : QueuedEngine(place, whole(kind, given, "num_blocks"), whole(kind, given, "block_size"), InFlight::apart),
          seats_(whole(kind, given, "max_num_seqs")), most_tokens_(whole(kind, given, "max_tokens")) {}

    void admit(Time now, Batch& batch) {
        while (!waiting_.empty()) {
            if (batch.items.size() == seats_) {
                return reasons_.stops(Obstacle::seats);
            }
            if (!kv_.hold(waiting_.front(), reserve(waiting_.front()))) {
                return reasons_.stops(Obstacle::blocks);
            }
            const RequestId request = start_first(now);
            add(batch, request, missing(request));
        }
    }
    void go_on(Batch& batch, std::size_t most) const {
        for (std::size_t at = 0; at < std::min<std::size_t>({running_.size(), most, seats_}); ++at) {
            add(batch, running_[at], missing(running_[at]));
        }
    }

private:
    u32 reserve(RequestId request) const {
        return std::max(most_tokens_ / kv_.size() * kv_.size(),
                        requests_.prompt[request] + requests_.limit[request] - 1);
    }

    u32 seats_;
    u32 most_tokens_;
};

inline std::vector<EngineOption> reserving_options() {
    return {
        {"num_blocks", 4096, 1, "blocks of KV"},
        {"block_size", 16, 1, "tokens of a block"},
        {"max_num_seqs", 128, 1, "sequences that run at once"},
        {"max_tokens", 4096, 1, "tokens for which a sequence reserves blocks"},
    };
}

}  // namespace yantra::serving
