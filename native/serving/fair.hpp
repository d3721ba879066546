// FairQueue: the user who was served least goes next (virtual token counter: Sheng et al., OSDI
// 2024, algorithm 2); who comes back is lifted to the least counter of those that wait. Work done
// anew is not counted again.
#pragma once

#include <algorithm>
#include <unordered_map>
#include <vector>

#include "serving/asked/ids.hpp"

namespace yantra::serving {

class FairQueue {
public:
    FairQueue(double input_weight, double output_weight) : input_(input_weight), output_(output_weight) {}

    // From the next plan on.
    void waits(u32 user) { fresh_.push_back(user); }
    void plans() {
        for (const u32 user : fresh_) {
            if (users_[user].waiting == 0) {
                users_[user].served = std::max(users_[user].served, floor());
            }
            ++users_[user].waiting;
        }
        fresh_.clear();
    }
    // It waits no longer.
    void leaves(u32 user) {
        User& of = users_[user];
        --of.waiting;
        last_ = user;
    }
    void reads(u32 user, u64 tokens) { users_[user].served += input_ * static_cast<double>(tokens); }
    void emits(u32 user, u64 tokens) { users_[user].served += output_ * static_cast<double>(tokens); }
    bool goes_before(u32 a, u32 b) {
        const double of_a = users_[a].served;
        const double of_b = users_[b].served;
        return of_a != of_b ? of_a < of_b : a < b;
    }

private:
    struct User {
        double served = 0.0;
        u64 waiting = 0;
    };

    // If none does, that of the last who waited.
    double floor() {
        double least = 0.0;
        bool is_any = false;
        for (const auto& [number, user] : users_) {
            if (user.waiting > 0 && (!is_any || user.served < least)) {
                least = user.served;
                is_any = true;
            }
        }
        if (is_any) {
            return least;
        }
        const auto last = users_.find(last_);
        return last == users_.end() ? 0.0 : last->second.served;
    }

    double input_;
    double output_;
    u32 last_ = ~u32{0};
    std::vector<u32> fresh_;
    std::unordered_map<u32, User> users_;
};

}  // namespace yantra::serving
