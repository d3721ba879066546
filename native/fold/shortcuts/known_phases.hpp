// KnownPhases: what phases take among ranks that do the same, by closed form and not by messages.
#pragma once

#include <vector>

#include "collective/runtime/exchange.hpp"
#include "collective/runtime/phase_times.hpp"
#include "collective/runtime/reduction.hpp"
#include "engine/actors.hpp"
#include "fold/shortcuts/closed_form.hpp"

namespace yantra {

class KnownPhases final : public PhaseTimes {
public:
    KnownPhases(const Model& model, const ActorClasses& classes) : model_(model), classes_(classes) {}
    void ask(NetworkModel& network, const Exchange& exchange) {
        network_ = &network;
        exchange_ = &exchange;
    }

    // None unless all that take part in the phase do what its actor does. A message of a phase reaches
    // no rank that the program does not name, so whatever else the classes of the communicator do, they
    // are not in it.
    std::optional<u64> ticks(const PhaseInput& input) override {
        ClosedForms::Used& used =
            forms_.of({input.data, input.actor.index(), input.plan, input.communicator, input.level,
                       program_number(input), input.clockwise},
                      [&] { return find(input); });
        if (!used.form || (!used.form->on_links.empty() && !network_->hold(used.form->on_links, used.form->ticks))) {
            return std::nullopt;
        }
        ++used.times;
        return used.form->ticks;
    }

    // Adds the messages of the phases that were not played.
    void add_to(u64& messages, std::vector<LinkUse>& dimensions) const {
        forms_.for_each([&](u32 actor, const ClosedForm& form, u64 times) {
            const u64 all = classes_.count[actor] * times;
            messages += form.messages * all;
            for (std::size_t d = 0; d < form.use.size(); ++d) {
                dimensions[d].bytes += form.use[d].bytes * all;
                dimensions[d].messages += form.use[d].messages * all;
            }
        });
    }

    // What was used since the last mark was used so many times more.
    void mark() { forms_.mark(); }
    void repeat(u64 times) { forms_.repeat(times); }

private:
    u32 program_number(const PhaseInput& input) const {
        return static_cast<u32>(&input.program - model_.programs.data());
    }

    std::optional<ClosedForm> find(const PhaseInput& input) const {
        const ExchangeProgram& machine = *std::get_if<ExchangeProgram>(&input.program.machine);
        auto does_the_same = [&](u32 rank) { return classes_.class_of[rank] == input.actor.index(); };
        if (!all_peers(machine, input.place, does_the_same)) {
            return std::nullopt;
        }
        return closed_form({machine, input.place, input.data, input.program.round_up, input.clockwise,
                            exchange_->hand_over_ticks(input.fixed_hand_over),
                            [this](u64 bytes) { return reduction_ticks(model_, bytes); }},
                           *network_);
    }

    const Model& model_;
    const ActorClasses& classes_;
    NetworkModel* network_ = nullptr;
    const Exchange* exchange_ = nullptr;
    ClosedForms forms_;
};

}  // namespace yantra
