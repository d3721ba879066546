// SearchBudget: how much more the search for classes may cost, in neighbours visited.
#pragma once

#include "base/types.hpp"

namespace yantra {

class SearchBudget {
public:
    void spend(u64 neighbours) { spent_ += neighbours; }
    void give_up() { spent_ = most; }
    bool is_spent() const { return spent_ >= most; }

private:
    static constexpr u64 most = 400'000'000;
    u64 spent_ = 0;
};

}  // namespace yantra
