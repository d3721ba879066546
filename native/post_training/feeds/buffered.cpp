// Buffered: until the buffer and what runs are two steps for each mini-batch of age. Source:
// NeMo-RL (7ea279a), its asynchronous collector.
#include "post_training/feed.hpp"

namespace yantra::post_training {

namespace {

class Buffered final : public Feed {
public:
    explicit Buffered(const Job& job) : job_(&job) {}

    bool allows(const Seen& seen) override {
        const u64 most = u64{2} * job_->max_age * job_->groups_per_step;
        return seen.running < job_->max_concurrent && u64{seen.running} + seen.buffered < most;
    }

private:
    const Job* job_;
};

const RegisteredFeed registered_buffered({
    "buffer",
    "as many as the buffer holds",
    [](const Job& job) -> std::unique_ptr<Feed> { return std::make_unique<Buffered>(job); },
});

}  // namespace

}  // namespace yantra::post_training
