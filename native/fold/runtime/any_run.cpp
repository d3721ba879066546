#include "fold/runtime/any_run.hpp"

#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "base/one_thread.hpp"
#include "base/too_long.hpp"
#include "base/unsupported.hpp"
#include "fold/runtime/folded_run.hpp"
#include "run/simulation.hpp"

namespace yantra::inline YANTRA_RUN {

namespace {

#ifdef YANTRA_RECORDED
using OutsideOfRun = AnyRecordedRun;
#else
using OutsideOfRun = AnyRun;
#endif

class EitherRun final : public OutsideOfRun, private ArrivingWork {
public:
    EitherRun(const Model& model, bool match_by_tag)
        : model_(model), match_by_tag_(match_by_tag), whole_(simulation("")) {}
    EitherRun(const Model& model, std::shared_ptr<const Folding> folding,
              std::unique_ptr<Shortcuts> shortcuts)
        : model_(model),
          folded_(std::make_unique<FoldedRun>(model, std::move(folding), std::move(shortcuts))) {}

    // Precondition: every rank runs.
    void pass_no_rounds() {
        passes_rounds_ = false;
        whole_->collectives().exchange().pass_no_rounds();
    }
    void note(Notes notes) override {
        notes_ = notes;
        if (whole_) {
            whole_->executor().log().keep(notes);
        }
    }
    void start() override {
        again([this] { whole_ ? whole_->start() : folded_->start(); });
    }
    bool run_for(u64 events) override {
        bool is_over = false;
        again([&] { is_over = whole_ ? whole_->run_for(events) : folded_->run_for(events); });
        return is_over;
    }
    Outcome outcome() const override { return whole_ ? whole_->outcome() : folded_->outcome(); }
    Outcome take_outcome() override { return whole_ ? whole_->take_outcome() : folded_->take_outcome(); }
    RunProgress progress() const override {
        return whole_ ? RunProgress{whole_->now(), whole_->nodes_done(), 0}
                      : RunProgress{folded_->now(), folded_->nodes_done(), folded_->nodes_skipped()};
    }
    RunStop stop() const override {
        return {late_, whole_ ? whole_->mismatch() : folded_->mismatch(), tie()};
    }
    ArrivingWork& work() override {
        ensure(whole_ != nullptr, "jobs cannot arrive where one rank stands for many");
        return *this;
    }

#ifdef YANTRA_RECORDED
    void limit(u64 bytes) override { recorder().most_bytes = bytes; }
    Recording take_recording() override {
        const auto ticks_per_ns = static_cast<double>(model_.semantics.scale.ticks_per_ns());
        recorder().recording().series.finish(static_cast<double>(progress().now) / ticks_per_ns);
        return std::move(recorder().recording());
    }
#endif

private:
    std::unique_ptr<Simulation> simulation(std::string why_one_thread) const {
        Cast cast;
        cast.why_one_thread = std::move(why_one_thread);
        return std::make_unique<Simulation>(model_, match_by_tag_, std::move(cast));
    }
    void begin_again(const std::string& why) {
        if (work_came_) {
            throw Unsupported("network.threads: work that came later cannot begin again on one thread, as it has to, since " +
                              why + "; take 1");
        }
        whole_ = nullptr;
        whole_ = simulation("begun again, as " + why);
        if (notes_) {
            note(*notes_);
        }
        if (!passes_rounds_) {
            pass_no_rounds();
        }
        whole_->start();
    }
    // From the beginning, if need be.
    template <class Do>
    void again(Do&& what) {
        try {
            watched(what);
        } catch (const OneThread& refused) {
            watched([&] { begin_again(refused.why); });
        }
    }
    template <class Do>
    void watched(Do&& what) {
        try {
            what();
        } catch (const TooLong& error) {
            late_ = yantra::late(whole_ ? *whole_ : folded_->simulation(), error);
            throw;
        }
    }
    u32 submit(const std::vector<u32>& ranks, const std::vector<std::shared_ptr<Job>>& jobs,
               u64 tick) override {
        ensure(ranks.size() == jobs.size(), "a rank for each job");
        Simulation::Jobs of_ranks;
        for (std::size_t i = 0; i < jobs.size(); ++i) {
            of_ranks.emplace_back(ranks[i], jobs[i]);
        }
        work_came_ = true;
        return whole_->submit(of_ranks, tick);
    }
    bool withdraw(u32 arrival) override { return whole_->withdraw(arrival); }
    std::vector<u32> take_ended() override { return whole_->take_ended(); }
    ArrivedJobs arrival(u32 number) override {
        const LaterJobs::Arrival& of = whole_->arrival(number);
        return {of.begun, of.ended, of.first_place};
    }
    std::optional<Tie> tie() const {
        if (whole_ || folded_->order().found().empty()) {
            return std::nullopt;
        }
        const TickOrder& order = folded_->order();
        return Tie{order.found(), order.actor(), order.node(), order.other()};
    }
#ifdef YANTRA_RECORDED
    Recorder& recorder() { return whole_ ? whole_->recorder() : folded_->recorder(); }
#endif

    const Model& model_;
    const bool match_by_tag_ = false;
    bool passes_rounds_ = true;
    bool work_came_ = false;
    std::optional<Notes> notes_;
    std::unique_ptr<Simulation> whole_;    // one of the two
    std::unique_ptr<FoldedRun> folded_;
    std::optional<Late> late_;
};

}  // namespace

#ifdef YANTRA_RECORDED
std::unique_ptr<AnyRecordedRun> make_run(const Model& model, bool match_by_tag,
                                         std::shared_ptr<const Folding> folding) {
    if (folding == nullptr) {
        return std::make_unique<EitherRun>(model, match_by_tag);
    }
    return std::make_unique<EitherRun>(model, std::move(folding), nullptr);
}
#else
std::unique_ptr<AnyRun> make_run(const Model& model, bool match_by_tag,
                                 std::shared_ptr<const Folding> folding, MakeShortcuts shortcuts) {
    if (folding == nullptr) {
        auto whole = std::make_unique<EitherRun>(model, match_by_tag);
        if (shortcuts == nullptr) {
            whole->pass_no_rounds();
        }
        return whole;
    }
    auto made = shortcuts == nullptr ? nullptr : shortcuts(model, *folding);
    return std::make_unique<EitherRun>(model, std::move(folding), std::move(made));
}
#endif

}  // namespace yantra
