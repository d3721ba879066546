// Round robin: one after the other.
#include "serving/routing.hpp"

namespace yantra::serving {

namespace {

class RoundRobin final : public Routing {
public:
    std::size_t choose(RequestId, const Requests&, std::span<const Target> targets) override {
        return next_++ % targets.size();
    }

private:
    std::size_t next_ = 0;
};

const RegisteredRouting registered_round_robin({
    "round_robin",
    "one after the other",
    [](u64) -> std::unique_ptr<Routing> { return std::make_unique<RoundRobin>(); },
});

}  // namespace

}  // namespace yantra::serving
