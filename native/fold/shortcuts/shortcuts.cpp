#include "fold/shortcuts/shortcuts.hpp"

#include <optional>
#include <vector>

#include "fold/runtime/shortcuts.hpp"
#include "fold/shortcuts/fast_forward.hpp"
#include "fold/shortcuts/known_phases.hpp"

namespace yantra {

namespace {

class AllShortcuts final : public Shortcuts {
public:
    AllShortcuts(const Model& model, const ActorClasses& classes)
        : model_(model), classes_(classes), phases_(model, classes) {}

    NextLook watch(Simulation& run, OrderGuard& guard) override {
        phases_.ask(run);
        if (run.network().capabilities().recurring_state == nullptr) {
            return {};
        }
        fast_forward_.emplace(model_, classes_, run, guard, phases_);
        return fast_forward_->next_look();
    }
    PhaseTimes& times() override { return phases_; }
    NextLook look() override {
        fast_forward_->look();
        return fast_forward_->next_look();
    }
    void add_to(u64& messages, std::vector<LinkUse>& dimensions) const override {
        phases_.add_to(messages, dimensions);
    }
    u64 nodes_skipped() const override { return fast_forward_ ? fast_forward_->nodes_skipped() : 0; }

private:
    const Model& model_;
    const ActorClasses& classes_;
    KnownPhases phases_;
    std::optional<FastForward> fast_forward_;
};

}  // namespace

std::unique_ptr<Shortcuts> make_shortcuts(const Model& model, const ActorClasses& classes) {
    return std::make_unique<AllShortcuts>(model, classes);
}

}  // namespace yantra
