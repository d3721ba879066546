// InFlight: so many groups that run or wait in the buffer, for partial rollouts.
#include "post_training/feed.hpp"

namespace yantra::post_training {

namespace {

class InFlight final : public Feed {
public:
    explicit InFlight(const Job& job) : job_(&job) {}

    bool allows(const Seen& seen) override {
        return u64{seen.running} + seen.buffered < job_->in_flight_groups;
    }

private:
    const Job* job_;
};

const RegisteredFeed registered_in_flight({
    "in-flight",
    "so many that run or wait in the buffer",
    [](const Job& job) -> std::unique_ptr<Feed> { return std::make_unique<InFlight>(job); },
});

}  // namespace

}  // namespace yantra::post_training
