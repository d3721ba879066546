// Batches: a step's groups at once, when all samples before are finished and the trainer is no more
// than so many steps behind. Another group replaces each that is filtered, or whole rounds do.
#include "post_training/feed.hpp"

#include <algorithm>

namespace yantra::post_training {

namespace {

class Batches final : public Feed {
public:
    explicit Batches(const Job& job) : job_(&job) {}

    bool allows(const Seen& seen) override {
        const u64 whole = job_->in_rounds ? quota_ : quota_ + seen.filtered;
        if (seen.submitted < whole) {
            return true;
        }
        const u32 last = std::min(seen.steps_done + job_->ahead, job_->steps - 1);
        if (opened_ <= last && !seen.is_unfinished) {
            ++opened_;
            quota_ += job_->groups_per_step;
            return true;
        }
        const bool is_short = seen.trainer_waits && seen.running == 0 && seen.buffered < job_->groups_per_step;
        if (job_->in_rounds && is_short) {
            quota_ += job_->groups_per_step;
            return true;
        }
        return false;
    }

private:
    const Job* job_;
    u32 opened_ = 0;
    u64 quota_ = 0;
};

const RegisteredFeed registered_batches({
    "batches",
    "a step's groups at once",
    [](const Job& job) -> std::unique_ptr<Feed> { return std::make_unique<Batches>(job); },
});

}  // namespace

}  // namespace yantra::post_training
