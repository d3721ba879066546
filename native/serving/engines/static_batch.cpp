// Static batching: a batch runs until its last sequence ends, with empty seats (Yu et al., OSDI
// 2022, section 3). Forming waits as Triton's dynamic batcher (max_queue_delay_microseconds).
#include <memory>

#include "serving/queued.hpp"

namespace yantra::serving {

namespace {

class StaticBatch final : public QueuedEngine {
public:
    StaticBatch(const Place& place, const EngineKind& kind, const EngineOptions& given)
        : QueuedEngine(place, whole(kind, given, "num_blocks"), whole(kind, given, "block_size")),
          seats_(whole(kind, given, "max_batch_size")),
          delay_(static_cast<Time>(option_of(kind, given, "max_queue_delay_microseconds") * 1e6)),
          since_(place.requests.size()) {}

    void accepts(RequestId request, Time now) override {
        since_[request] = now;
        QueuedEngine::accepts(request, now);
    }

    void ends(const Batch& batch, const Ended& when) override {
        QueuedEngine::ends(batch, when);
        if (running_.empty()) {
            give_back_all();
        }
    }

    std::vector<RequestId> loses_all(Time now) override {
        std::vector<RequestId> lost = QueuedEngine::loses_all(now);
        give_back_all();
        return lost;
    }

protected:
    void fills(Time now, Batch& batch) override {
        if (running_.empty()) {
            return form(now, batch);
        }
        for (const RequestId request : running_) {
            add(batch, request, missing(request));
        }
        reasons_.stops(Obstacle::order);
    }
    void gives_up(RequestId request) override { over_.push_back(request); }

private:
    void form(Time now, Batch& batch) {
        if (waiting_.size() < seats_ && !waiting_.empty() && now < since_[waiting_.front()] + delay_) {
            batch.again = since_[waiting_.front()] + delay_;
            return reasons_.stops(Obstacle::order);
        }
        while (!waiting_.empty() && running_.size() < seats_) {
            const RequestId request = waiting_.front();
            if (!kv_.hold(request, requests_.prompt[request] + requests_.limit[request] - 1)) {
                return reasons_.stops(Obstacle::blocks);
            }
            start_first(now);
            add(batch, request, missing(request));
        }
        reasons_.stops(Obstacle::seats);
    }
    void give_back_all() {
        for (const RequestId request : over_) {
            kv_.forget(request);
        }
        over_.clear();
    }

    u32 seats_;
    Time delay_;
    IdVector<RequestId, Time> since_;   // when they came
    std::vector<RequestId> over_;            // of the batch, whose blocks nobody has
};

std::unique_ptr<Engine> make_static_batch(const Engine::Place& place, const EngineOptions& given) {
    return std::make_unique<StaticBatch>(place, *find_engine("static_batch"), given);
}

const RegisteredEngine registered_static_batch({
    "static_batch",
    "static batching: a batch runs until its last sequence ends, and nobody enters before",
    make_static_batch,
    {
        {"num_blocks", 4096, 1, "blocks of KV"},
        {"block_size", 16, 1, "tokens of a block"},
        {"max_batch_size", 32, 1, "sequences of a batch"},
        {"max_queue_delay_microseconds", 0, 0, "for how long the first waits for others to fill a batch"},
    },
});

}  // namespace

}  // namespace yantra::serving
