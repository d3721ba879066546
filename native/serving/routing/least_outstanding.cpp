// Least outstanding: the engine with fewest requests that have not ended. `waiting_first` weighs
// those that wait by 4 (vllm/v1/engine/core_client.py).
#include "serving/routing.hpp"

namespace yantra::serving {

namespace {

class LeastOutstanding final : public Routing {
public:
    explicit LeastOutstanding(u64 waiting) : waiting_(waiting) {}

    std::size_t choose(RequestId, const Requests&, std::span<const Target> targets) override {
        std::size_t best = 0;
        u64 least = ~u64{0};
        for (std::size_t at = 0; at < targets.size(); ++at) {
            const Load load = targets[at].engine->load();
            const u64 score = waiting_ * load.waiting + load.running;
            if (score < least) {
                least = score;
                best = at;
            }
        }
        return best;
    }

private:
    u64 waiting_;
};

const RegisteredRouting registered_least_outstanding({
    "least_outstanding",
    "the engine with fewest requests that have not ended",
    [](u64) -> std::unique_ptr<Routing> { return std::make_unique<LeastOutstanding>(1); },
});

const RegisteredRouting registered_waiting_first({
    "waiting_first",
    "as least_outstanding, but one that waits counts as four that run (vLLM's balancer)",
    [](u64) -> std::unique_ptr<Routing> { return std::make_unique<LeastOutstanding>(4); },
});

}  // namespace

}  // namespace yantra::serving
