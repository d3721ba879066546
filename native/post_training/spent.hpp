// Spent: where the ticks of each replica and of the trainer go. All idle replicas wait for the same,
// so its ticks are counted once and taken when one goes on.
#pragma once

#include <array>
#include <vector>

#include "post_training/job.hpp"

namespace yantra::post_training {

enum class Cause : u8 { generation, switching, logp, ref, train, refit, tail, tool, reward, trainer };
inline constexpr std::size_t causes = 10;
enum class TrainerCause : u8 { wait_generation, wait_reward, wait_stop, logp, ref, train, refit };
inline constexpr std::size_t trainer_causes = 7;

class Spent {
public:
    explicit Spent(u32 replicas) : replicas_(replicas), since_(replicas) {}

    void idles(Cause cause, Time span) { idle_[static_cast<std::size_t>(cause)] += span; }
    void trains(TrainerCause cause, Time span) { trainer_[static_cast<std::size_t>(cause)] += span; }
    // A replica was idle until now.
    void goes_on(u32 replica) {
        if (since_[replica] != idle_) {
            for (std::size_t at = 0; at < causes; ++at) {
                replicas_[replica][at] += idle_[at] - since_[replica][at];
            }
        }
    }
    // It generated for so long, and is idle from now on.
    void generated(u32 replica, Time span) {
        replicas_[replica][static_cast<std::size_t>(Cause::generation)] += span;
        since_[replica] = idle_;
    }

    using Row = std::array<i64, causes>;
    const std::vector<Row>& replicas() const { return replicas_; }
    const std::array<i64, trainer_causes>& trainer() const { return trainer_; }

private:
    std::vector<Row> replicas_;
    std::vector<Row> since_;   // what all idle ones had waited when this one became idle
    Row idle_{};
    std::array<i64, trainer_causes> trainer_{};
};

}  // namespace yantra::post_training
