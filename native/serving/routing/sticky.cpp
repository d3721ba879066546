// Sticky: a conversation stays where it began, while that engine is up.
#include <unordered_map>

#include "serving/routing.hpp"

namespace yantra::serving {

namespace {

class Sticky final : public Routing {
public:
    std::size_t choose(RequestId request, const Requests& requests, std::span<const Target> targets) override {
        const u64 session = requests.session[request];
        if (session == ~u64{0}) {
            return idlest(targets);
        }
        if (const auto home = home_.find(session); home != home_.end()) {
            for (std::size_t at = 0; at < targets.size(); ++at) {
                if (targets[at].id == home->second) {
                    return at;
                }
            }
        }
        const std::size_t chosen = idlest(targets);
        home_[session] = targets[chosen].id;
        return chosen;
    }

private:
    static std::size_t idlest(std::span<const Target> targets) {
        std::size_t best = 0;
        u64 least = ~u64{0};
        for (std::size_t at = 0; at < targets.size(); ++at) {
            const Load load = targets[at].engine->load();
            if (load.waiting + load.running < least) {
                least = load.waiting + load.running;
                best = at;
            }
        }
        return best;
    }

    std::unordered_map<u64, TargetId> home_;
};

const RegisteredRouting registered_sticky({
    "sticky",
    "a conversation stays where it began; others go to the idlest engine",
    [](u64) -> std::unique_ptr<Routing> { return std::make_unique<Sticky>(); },
});

}  // namespace

}  // namespace yantra::serving
