// Capacity: so many groups that none should be staler than the bound when it is trained, and at
// most so many at once. Source: SkyRL (a9564572), as AReaL.
#include "post_training/feed.hpp"

namespace yantra::post_training {

namespace {

class Capacity final : public Feed {
public:
    explicit Capacity(const Job& job) : job_(&job) {}

    bool allows(const Seen& seen) override {
        const u64 version = u64{seen.steps_done} + 1;
        const u64 room = (job_->staleness + version) * job_->groups_per_minibatch;
        return seen.running < job_->max_concurrent && u64{seen.accepted} + seen.running < room;
    }

private:
    const Job* job_;
};

const RegisteredFeed registered_capacity({
    "capacity",
    "as many as the bound of staleness lets in",
    [](const Job& job) -> std::unique_ptr<Feed> { return std::make_unique<Capacity>(job); },
});

}  // namespace

}  // namespace yantra::post_training
