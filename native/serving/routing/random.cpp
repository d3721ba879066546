// Random: each engine with the same chance, or the better of two so drawn (Mitzenmacher, IEEE TPDS
// 2001).
#include <random>

#include "serving/routing.hpp"

namespace yantra::serving {

namespace {

class Random final : public Routing {
public:
    Random(u64 seed, bool of_two) : engine_(seed), of_two_(of_two) {}

    std::size_t choose(RequestId, const Requests&, std::span<const Target> targets) override {
        const std::size_t first = engine_() % targets.size();
        if (!of_two_) {
            return first;
        }
        const std::size_t second = engine_() % targets.size();
        return requests_at(targets[second]) < requests_at(targets[first]) ? second : first;
    }

private:
    static u64 requests_at(const Target& target) {
        const Load load = target.engine->load();
        return load.waiting + load.running;
    }

    std::mt19937_64 engine_;
    bool of_two_;
};

const RegisteredRouting registered_random({
    "random",
    "each engine with the same chance",
    [](u64 seed) -> std::unique_ptr<Routing> { return std::make_unique<Random>(seed, false); },
});

const RegisteredRouting registered_two_choices({
    "two_choices",
    "the one with fewer requests of two drawn at random",
    [](u64 seed) -> std::unique_ptr<Routing> { return std::make_unique<Random>(seed, true); },
});

}  // namespace

}  // namespace yantra::serving
