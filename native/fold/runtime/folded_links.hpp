// FoldedLinks: store-and-forward of a folded run, one link for each class (fold/link_classes.hpp),
// valid while all links of a class serve in one order: that of sends (send_order.hpp) or of last
// hops. Other messages of one tick clash.
#pragma once

#include <functional>
#include <vector>

#include "network/store_and_forward.hpp"

namespace yantra {

inline namespace YANTRA_RUN {

class FoldedLinks final : public StoreAndForwardNetwork {
public:
    using Clash = std::function<void(const Links& links, u32 link)>;
    using InOneOrder = std::function<bool(u64 first, u64 second)>;

    static constexpr u64 unknown = ~u64{0};

    FoldedLinks(const Grid& grid, TimeScale scale, Engine& engine, const LinkClasses& classes);

    void report_to(InOneOrder in_one_order, Clash clash);
    void caused_by(u64 cause) { cause_ = cause; }

    void send(const Message& message, Notice arrived, Notice departed) override;
    NetworkCapabilities capabilities() override { return {}; }   // classes of links are numbered
                                                                 // differently
    // On demand only: see records().
    std::vector<LinkRecord> links() const override { return {}; }
    std::vector<LinkUse> dimensions() const override;

    // By class of links.
    std::vector<LinkUse> uses() const;
    static std::vector<LinkRecord> records(const Links& links, const LinkClasses& classes,
                                           const std::vector<LinkUse>& uses);

private:
    struct Offered {
        u64 tick = ~u64{0};
        u64 cause = unknown;   // or, if it passes, when its last hop began
        bool passes = false;
    };

    void take_on(u32 transit) override { take_on(transit, true); }
    void take_on(u32 transit, bool passes);
    bool in_one_order(const Offered& first, const Offered& second) const;

    const LinkClasses& classes_;
    InOneOrder sent_in_one_order_;
    Clash clash_;
    u64 cause_ = unknown;
    std::vector<Offered> offered_;   // by class
    std::vector<u32> crossed_;       // by transit: its last link's class
};

}  // namespace YANTRA_RUN

}  // namespace yantra
