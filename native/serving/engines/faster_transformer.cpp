// FasterTransformer: a batch is formed once, and nobody enters until its last sequence ends.
//
// Rules of Vidur 7d47513 (faster_transformer_replica_scheduler.py), as are the golden schedules.
// As there, only those that end with the batch give their blocks back, so batches shrink to one in
// a long run; `static_batch` gives all of them back.
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
        if (running_.empty()) {
            for (const Item& item : batch.items) {
                if (sequences_[item.request].emitted >= requests_.output[item.request]) {
                    kv_.forget(item.request);
                }
            }
        }
    }

    Vector<RequestId> loses_all(Time now) override {
        for (u32 at = 0; at < requests_.size(); ++at) {
            kv_.forget(RequestId(at));
        }
        return ReservingEngine::loses_all(now);
    }

protected:
    void fills(Time now, Batch& batch) override {
        if (running_.empty()) {
            admit(now, batch);
        } else {
            go_on(batch);
            reasons_.stops(Obstacle::order);
        }
    }
    void gives_up(RequestId) override {}
};

std::unique_ptr<Engine> make_faster_transformer(const Engine::Place& place, const EngineOptions& given) {
    return std::make_unique<FasterTransformer>(place, *find_engine("faster_transformer"), given);
}

const RegisteredEngine registered_faster_transformer({
    "faster_transformer",
    "FasterTransformer: one batch runs to its last token; blocks of those that ended sooner are lost",
    make_faster_transformer,
    reserving_options(),
});

}  // namespace

}  // namespace yantra::serving
