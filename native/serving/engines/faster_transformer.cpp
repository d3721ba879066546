// FasterTransformer: a batch is formed once, and nobody enters until its last sequence ends. Rules
// of Vidur 7d47513 (faster_transformer_replica_scheduler.py). Only those that end with the batch
// give their blocks back; `static_batch` gives all.
#include <memory>

#include "serving/reserving.hpp"

namespace yantra::serving {

namespace {

class FasterTransformer final : public ReservingEngine {
public:
    FasterTransformer(const Place& place, const EngineKind& kind, const EngineOptions& given)
        : ReservingEngine(place, kind, given) {}

    void ends(const Batch& batch, const Ended& when) override {
        ReservingEngine::ends(batch, when);
        u32 left = 0;
        for (const Item& item : batch.items) {
            left += is_over(item.request) ? 0 : 1;
        }
        if (left > 0) {
            batches_.push_back(left);
        } else {
            for (const Item& item : batch.items) {
                if (sequences_[item.request].emitted >= requests_.output[item.request]) {
                    kv_.forget(item.request);
                }
            }
        }
    }

    std::vector<RequestId> loses_all(Time now) override {
        for (u32 at = 0; at < requests_.size(); ++at) {
            kv_.forget(RequestId(at));
        }
        batches_.clear();
        return ReservingEngine::loses_all(now);
    }

protected:
    void fills(Time now, Batch& batch) override {
        if (batches_.empty()) {
            admit(now, batch);
        } else {
            go_on(batch, batches_.front());
            batches_.pop_front();
            reasons_.stops(Obstacle::order);
        }
    }
    void gives_up(RequestId) override {}

private:
    std::deque<u32> batches_;   // how many of each are left, in the order in which they run again
};

std::unique_ptr<Engine> make_faster_transformer(const Engine::Place& place, const EngineOptions& given) {
    return std::make_unique<FasterTransformer>(place, *find_engine("faster_transformer"), given);
}

const RegisteredEngine registered_faster_transformer({
    "faster_transformer",
    "FasterTransformer: one batch runs to its last token; blocks of those that ended sooner are lost",
    make_faster_transformer,
    reserving_options(),
    true,
});

}  // namespace

}  // namespace yantra::serving
