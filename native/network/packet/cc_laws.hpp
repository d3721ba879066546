// The laws that every congestion control keeps, checked on flows over a switch.
#pragma once

#include <string>

#include "network/packet/congestion_control.hpp"

namespace yantra::packet {

// The first law that a scheme breaks and what was seen, as `law: what`; or empty. Flows go over one
// switch of 100 Gb/s with the settings of `congestion_control: NAME`.
//   all_flows_end: alone, into one port, and where packets are lost, within 200 times the line's time.
//   rates_are_of_the_line: a flow's rate is above 0 and at most that of its link, at any time.
//   a_place_begins_anew: a flow alone takes as long as before others had its place, within a tenth.
//   timers_end_with_their_flow: soon after the last flow's end no event is left.
//   nobody_starves: of equal flows into one port that begin together, the last takes at most 8 times the first.
//   a_window_stays_a_window: a window stays above 0 bytes, as 0 means none.
//   it_speeds_up_again: when others into its port have ended, the rest takes at most 3 times the line's time.
//   equal_runs_are_equal: a repeated run ends at the same ticks.
std::string broken_law(const Scheme& scheme);

}  // namespace yantra::packet
