#include "fold/shortcuts/joint_phase.hpp"

#include <algorithm>
#include <vector>

#include "base/never.hpp"

namespace yantra {

u32 JointPhase::column_of(u32 of_class) const {
    return static_cast<u32>(std::lower_bound(classes_.begin(), classes_.end(), of_class) - classes_.begin());
}

void JointPhase::ends(std::span<const u64> starts, std::vector<u64>& ends,
                      std::vector<u64>& gone) const {
    const u64 first = starts.front();
    if (std::all_of(starts.begin(), starts.end(), [first](u64 start) { return start == first; })) {
        ends.resize(starts.size());
        for (std::size_t at = 0; at < starts.size(); ++at) {
            ends[at] = first + together_[at];
        }
        return;
    }
    ends.assign(starts.begin(), starts.end());
    play(ends, gone);
}

void JointPhase::play(std::vector<u64>& ends, std::vector<u64>& gone) const {
    const std::size_t columns = classes_.size();
    gone.resize(columns);
    for (const Steps& steps : steps_) {
        for (u64 packet = 0; packet < steps.count; ++packet) {
            for (std::size_t at = 0; at < columns; ++at) {
                gone[at] = ends[at] + steps.work;
            }
            if (packet >= steps.sends) {
                ends = gone;
                continue;
            }
            for (std::size_t at = 0; at < columns; ++at) {
                const u32 from = steps.from[at];
                ends[at] = std::max(gone[at], gone[from] + steps.message[from]);
            }
        }
    }
}

class JointPhaseFinder {
public:
    JointPhaseFinder(const LonePhase& phase, NetworkModel& network, const std::function<u32(u32)>& class_of)
        : phase_(phase), network_(network), class_of_(class_of) {}

    std::optional<JointPhase> find() {
        const ExchangeProgram& machine = phase_.machine;
        if (network_.capabilities().known_times == nullptr || machine.window != 1 || machine.barrier_at != 0 ||
            machine.returns) {
            return std::nullopt;
        }
        name_classes();
        if (made_.classes_.size() < 2) {
            return std::nullopt;
        }
        for (u32 column = 0; column < made_.classes_.size(); ++column) {
            if (!look_at(column)) {
                return std::nullopt;
            }
        }
        if (!all_wait_for_all() || !is_counted()) {
            return std::nullopt;
        }
        std::vector<u64> gone;
        made_.together_.resize(made_.classes_.size());
        made_.play(made_.together_, gone);
        return std::move(made_);
    }

private:
    void name_classes() {
        std::vector<u32> of(phase_.place.size);
        for (u32 position = 0; position < phase_.place.size; ++position) {
            of[position] = class_of_(phase_.place.rank_at(position));
        }
        made_.classes_ = of;
        std::sort(made_.classes_.begin(), made_.classes_.end());
        made_.classes_.erase(std::unique(made_.classes_.begin(), made_.classes_.end()), made_.classes_.end());
        position_.assign(made_.classes_.size(), none);
        for (u32 position = phase_.place.size; position-- > 0;) {
            position_[made_.column_of(of[position])] = position;
        }
        made_.use_.resize(made_.classes_.size());
    }

    bool look_at(u32 column) {
        LonePhase own = phase_;
        own.place.position = position_[column];
        ClosedForm form;
        const std::vector<exchange::Steps> settled = settle(own, network_, form);
        made_.messages_ = form.messages;
        made_.use_[column] = std::move(form.use);
        made_.steps_.resize(settled.size());
        for (std::size_t run = 0; run < settled.size(); ++run) {
            const exchange::Steps& steps = settled[run];
            if (steps.to != steps.from || (steps.sends > 0 && steps.message == 0)) {
                return false;
            }
            const Run& program = phase_.machine.runs[run];
            const u32 from = own.place.position_at(program.into, program.by_xor, phase_.clockwise);
            JointPhase::Steps& made = made_.steps_[run];
            made.count = steps.count;
            made.sends = steps.sends;
            made.work = steps.hand_over + steps.reduction;
            made.from.push_back(made_.column_of(class_of_(own.place.rank_at(from))));
            made.message.push_back(steps.message);
        }
        return !settled.empty();
    }

    bool all_wait_for_all() const {
        const std::size_t columns = made_.classes_.size();
        const std::size_t width = (columns + 63) / 64;
        std::vector<u64> waits(columns * width);   // a bit for each column that one waits for
        for (std::size_t at = 0; at < columns; ++at) {
            waits[at * width + at / 64] |= u64{1} << at % 64;
        }
        std::vector<u64> before;
        for (const JointPhase::Steps& steps : made_.steps_) {
            bool grows = true;
            for (u64 packet = 0; packet < steps.sends && grows; ++packet) {
                before = waits;
                for (std::size_t at = 0; at < columns; ++at) {
                    for (std::size_t word = 0; word < width; ++word) {
                        waits[at * width + word] |= before[steps.from[at] * width + word];
                    }
                }
                grows = waits != before;
            }
        }
        for (std::size_t at = 0; at < columns * columns; ++at) {
            if ((waits[at / columns * width + at % columns / 64] >> at % columns % 64 & 1U) == 0) {
                return false;
            }
        }
        return true;
    }

    bool is_counted() {
        u64& ticks = made_.most_;
        for (const JointPhase::Steps& steps : made_.steps_) {
            const u64 message = *std::max_element(steps.message.begin(), steps.message.end());
            u64 taken = 0;
            if (steps.work > exchange::longest_phase || message > exchange::longest_phase ||
                __builtin_mul_overflow(steps.count, steps.work + message, &taken) || taken > exchange::longest_phase) {
                return false;
            }
            ticks += taken;
            if (ticks > exchange::longest_phase) {
                return false;
            }
        }
        return true;
    }

    const LonePhase& phase_;
    NetworkModel& network_;
    const std::function<u32(u32)>& class_of_;
    std::vector<u32> position_;   // of each column, one
    JointPhase made_;
};

std::optional<JointPhase> joint_phase(const LonePhase& phase, NetworkModel& network,
                               const std::function<u32(u32)>& class_of) {
    return JointPhaseFinder(phase, network, class_of).find();
}

}  // namespace yantra
