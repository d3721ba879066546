// Prefix aware, as SGLang's router: the longest match while no engine has 32 requests and 1.1 times
// as many as the idlest more; else the idlest (sgl-router, cache_aware). Trade-off: it asks the
// engines' own caches.
#include <algorithm>

#include "serving/routing.hpp"

namespace yantra::serving {

namespace {

class PrefixAware final : public Routing {
public:
    std::size_t choose(RequestId request, const Requests&, std::span<const Target> targets) override {
        std::size_t idlest = 0;
        u64 least = ~u64{0};
        u64 most = 0;
        for (std::size_t at = 0; at < targets.size(); ++at) {
            const Load load = targets[at].engine->load();
            const u64 here = load.waiting + load.running;
            most = std::max(most, here);
            if (here < least) {
                least = here;
                idlest = at;
            }
        }
        if (most > least + 32 && 10 * most > 11 * least) {
            return idlest;
        }
        std::size_t best = idlest;
        u32 known = targets[idlest].engine->knows(request);
        for (std::size_t at = 0; at < targets.size(); ++at) {
            if (const u32 here = targets[at].engine->knows(request); here > known) {
                known = here;
                best = at;
            }
        }
        return best;
    }
};

const RegisteredRouting registered_prefix_aware({
    "prefix_aware",
    "the engine that knows most of the prompt, unless it is much busier than the idlest",
    [](u64) -> std::unique_ptr<Routing> { return std::make_unique<PrefixAware>(); },
});

}  // namespace

}  // namespace yantra::serving
