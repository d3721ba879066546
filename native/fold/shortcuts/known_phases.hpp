// KnownPhases: times of phases by closed form. If messages share links, these are held
// (network/held_links.hpp); when somebody else sends over them, the phase is simulated from where
// it is.
#pragma once

#include <algorithm>
#include <array>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "base/ensure.hpp"
#include "collective/exchange/phase_times.hpp"
#include "collective/reduction.hpp"
#include "engine/actors.hpp"
#include "fold/shortcuts/closed_form.hpp"
#include "fold/shortcuts/joint_phases.hpp"
#include "network/held_links.hpp"
#include "run/simulation.hpp"

namespace yantra {

class KnownPhases final : public PhaseTimes, private HeldLinks::Holder {
public:
    KnownPhases(const Model& model, const ActorClasses& classes) : model_(model), classes_(classes) {}
    void ask(Simulation& run) {
        run_ = &run;
        links_ = run.network().capabilities().held_links;
        if (links_ != nullptr) {
            links_->tell(*this);
        }
    }

    // None unless all in the phase do what its actor does, or all others wait for each other.
    std::optional<std::span<const KnownEnd>> ends(const PhaseInput& input, ChunkId chunk) override {
        ends_.clear();
        const Known known = look_up(input);
        if (!known.used->form) {
            if (known.held == nullptr) {
                return std::nullopt;
            }
            joint_.come(*known.held, input, chunk, run_->now(), ends_);
            add_series_of_all(input, chunk);
            return ends_;
        }
        if (known.used->form->learnt != none) {
            return ends_if_held(*known.used, input, chunk);
        }
        ++known.used->times;
        ends_.push_back({input.actor, chunk, known.used->form->ticks});
        PhaseInput next = input;
        for (const u64 data : taken_series(chunk)) {
            next.data = data;
            ClosedForms::Used& used = *look_up(next).used;
            ++used.times;
            ends_.back().ticks += used.form->ticks;
        }
        return ends_;
    }

    u64 most_alike(const PhaseInput& input) override {
        const Known known = look_up(input);
        if (known.used->form) {
            return exchange::longest_phase / std::max<u64>(known.used->form->ticks, 1);
        }
        return known.held == nullptr ? 0 : exchange::longest_phase / std::max<u64>(known.held->form.most(), 1);
    }

    void stands_for(ChunkId chunk, std::span<const u64> more) override {
        if (series_.size() <= chunk.index()) {
            series_.resize(chunk.index() + std::size_t{1});
        }
        series_[chunk.index()].assign(more.begin(), more.end());
    }

    bool somebody_waits() const { return joint_.somebody_waits(); }

    bool is_void(ChunkId chunk) override {
        const auto found = void_.find({run_->now(), chunk});
        if (found == void_.end()) {
            return false;
        }
        void_.erase(found);
        return true;
    }

    bool is_sure() const { return void_.empty(); }
    void leap(u64 ticks) {
        for (Held& held : held_) {
            held.began += ticks;
        }
    }

    bool may_not_hold() const override { return links_ != nullptr; }
    bool ends_all(ChunkId chunk) override {
        if (chunk.index() >= held_.size() || held_[chunk.index()].phases.empty()) {
            return false;
        }
        const bool are_several = held_[chunk.index()].phases.size() > 1;
        held_[chunk.index()].phases.clear();
        return are_several;
    }

    void add_to(u64& messages, std::vector<LinkUse>& dimensions) const {
        forms_.for_each([&](u32 actor, const ClosedForm& form, u64 times) {
            const u64 all = classes_.count[actor] * times;
            messages += form.messages * all;
            for (std::size_t d = 0; d < form.use.size(); ++d) {
                dimensions[d].bytes += form.use[d].bytes * all;
                dimensions[d].messages += form.use[d].messages * all;
            }
        });
        joint_.add_to(messages, dimensions, classes_);
    }

    void mark() {
        forms_.mark();
        joint_.mark();
    }
    void repeat(u64 times) {
        forms_.repeat(times);
        joint_.repeat(times);
    }

private:
    u32 program_number(const PhaseInput& input) const {
        return static_cast<u32>(&input.program - model_.collectives.programs.data());
    }

    // Returns the series and resets it.
    const std::vector<u64>& taken_series(ChunkId chunk) {
        taken_.clear();
        if (chunk.index() < series_.size()) {
            taken_.swap(series_[chunk.index()]);
        }
        return taken_;
    }

    void add_series_of_all(const PhaseInput& input, ChunkId chunk) {
        if (ends_.empty() || chunk.index() >= series_.size() || series_[chunk.index()].empty()) {
            return;
        }
        PhaseInput next = input;
        for (const u64 data : taken_series(chunk)) {
            next.data = data;
            joint_.go_on(*look_up(next).held, ends_);
        }
        for (const KnownEnd& end : ends_) {
            if (end.chunk != chunk) {
                series_[end.chunk.index()].clear();
            }
        }
    }

    struct Known {
        ClosedForms::Key key{};
        ClosedForms::Used* used = nullptr;
        JointPhases::Held* held = nullptr;
    };

    static constexpr u32 kept = 8;
    static u32 place_of(const ClosedForms::Key& key) {
        constexpr u32 top_bits = 61;
        const u64 mixed = (key.data ^ u64{key.program} << 40U ^ u64{key.plan} << 20U) * 0x9e3779b97f4a7c15ULL;
        return static_cast<u32>(mixed >> top_bits);
    }

    Known look_up(const PhaseInput& input) {
        const ClosedForms::Key key{input.data, input.actor.index(), input.plan, input.communicator, input.level,
                                   program_number(input), input.clockwise};
        if (latest_.size() <= key.rank) {
            latest_.resize(key.rank + std::size_t{1});
        }
        Known& latest = latest_[key.rank][place_of(key)];
        if (latest.used == nullptr || !(latest.key == key)) {
            latest = {key, &forms_.of(key, [&] { return find(input); }), nullptr};
            if (!latest.used->form) {
                latest.held = joint_.held(key, [&] { return find_joint(input); });
            }
        }
        return latest;
    }

    // Of each chunk:
    struct Held {
        std::vector<ClosedForms::Used*> phases;
        u64 began = 0;   // tick
        u64 ticks = 0;   // of all
    };

    LonePhase alone(const PhaseInput& input) const {
        return {std::get<ExchangeProgram>(input.program.machine), input.place, input.data, input.program.round_up,
                input.clockwise, run_->collectives().exchange().hand_over_ticks(input.fixed_hand_over),
                [this](u64 bytes) {
                    return reduction_ticks(model_.collectives.system.memory_bytes_per_s, model_.semantics.scale, bytes);
                }};
    }

    std::optional<ClosedForm> find(const PhaseInput& input) const {
        auto does_the_same = [&](u32 rank) { return classes_.class_of[rank] == input.actor.index(); };
        if (!all_peers(std::get<ExchangeProgram>(input.program.machine), input.place, does_the_same)) {
            return std::nullopt;
        }
        std::optional<ClosedForm> form = closed_form(alone(input), run_->network());
        if (form && !form->on_links.empty()) {
            for (MessagesInTurn& messages : form->on_links) {
                messages.message.ranks = classes_.count[input.actor.index()];
            }
            form->learnt = links_->learn(form->on_links);
        }
        return form;
    }

    std::optional<JointPhase> find_joint(const PhaseInput& input) const {
        if (model_.semantics.quirks.phases_as_ready) {
            return std::nullopt;   // which chunk is next may be open until the last event of a tick
        }
        return joint_phase(alone(input), run_->network(), [&](u32 rank) { return classes_.class_of[rank]; });
    }

    std::optional<std::span<const KnownEnd>> ends_if_held(ClosedForms::Used& first, const PhaseInput& input,
                                                          ChunkId chunk) {
        if (held_.size() <= chunk.index()) {
            held_.resize(chunk.index() + std::size_t{1});
        }
        Held& held = held_[chunk.index()];
        held.phases.assign(1, &first);
        held.began = run_->now();
        held.ticks = first.form->ticks;
        PhaseInput next = input;
        for (const u64 data : taken_series(chunk)) {
            next.data = data;
            held.phases.push_back(look_up(next).used);
            held.ticks += held.phases.back()->form->ticks;
        }
        if (!links_->hold(first.form->learnt, held.ticks, chunk.index())) {
            held.phases.clear();
            return std::nullopt;
        }
        ++first.times;
        for (std::size_t at = 1; at < held.phases.size(); ++at) {
            links_->add(held.phases[at]->form->learnt);
            ++held.phases[at]->times;
        }
        ends_.push_back({input.actor, chunk, held.ticks});
        return ends_;
    }

    const std::vector<u64>& first_of_turn(const ClosedForm& form, u64 messages) {
        through_.clear();
        for (const MessagesInTurn& of : form.on_links) {
            through_.push_back(std::min(of.times, messages));
            messages -= through_.back();
        }
        return through_;
    }

    void meets(u32 name) override {
        const ChunkId chunk(name);
        Held& held = held_[name];
        u64 ticks = run_->now() - held.began;
        u32 turn = 0;
        for (; turn + 1 < held.phases.size() && ticks > held.phases[turn]->form->ticks; ++turn) {
            ticks -= held.phases[turn]->form->ticks;
        }
        for (std::size_t at = turn + std::size_t{1}; at < held.phases.size(); ++at) {
            --held.phases[at]->times;
            links_->give_up(held.phases[at]->form->learnt, first_of_turn(*held.phases[at]->form, 0));
        }
        ClosedForms::Used& used = *held.phases[turn];
        --used.times;
        void_.emplace(held.began + held.ticks, chunk);
        held.phases.clear();
        run_->collectives().take_turns(chunk, turn);
        const LonePhase phase = alone(run_->collectives().input_of(chunk));
        const PhaseMoment at = moment_after(phase, run_->network(), ticks);
        links_->give_up(used.form->learnt, through_of(*used.form, at));
        run_->collectives().play_on(chunk, at);
    }

    const std::vector<u64>& through_of(const ClosedForm& form, const PhaseMoment& at) {
        first_of_turn(form, form.messages - at.progress.left);
        for (const PhaseMoment::UnderWay& of : at.under_way) {
            u64 number = of.number;
            std::size_t group = 0;
            for (; number >= form.on_links[group].times; ++group) {
                number -= form.on_links[group].times;
            }
            --through_[group];
        }
        return through_;
    }

    const Model& model_;
    const ActorClasses& classes_;
    Simulation* run_ = nullptr;
    HeldLinks* links_ = nullptr;
    ClosedForms forms_;
    JointPhases joint_;
    std::vector<KnownEnd> ends_;
    std::vector<std::array<Known, kept>> latest_;   // by actor
    std::vector<std::vector<u64>> series_;   // by chunk: bytes of those that it represents
    std::vector<u64> taken_;
    std::vector<Held> held_;
    std::vector<u64> through_;
    std::multiset<std::pair<u64, ChunkId>> void_;   // ends that will not be, by tick
};

}  // namespace yantra
