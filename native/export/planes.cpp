#include "export/planes.hpp"

#include <cstring>

#include "base/ensure.hpp"
#include "base/zigzag.hpp"

namespace yantra {

namespace {

constexpr std::size_t planes_of_a_number = 8;
constexpr u32 bits_of_a_byte = 8;

}  // namespace

std::string to_planes(std::span<const u64> numbers) {
    std::string planes(numbers.size() * planes_of_a_number, '\0');
    u64 before = 0;
    for (std::size_t at = 0; at < numbers.size(); ++at) {
        u64 left = zigzag(numbers[at] - before);
        before = numbers[at];
        for (std::size_t place = at; left != 0; place += numbers.size()) {
            planes[place] = static_cast<char>(left & 0xFFU);
            left >>= bits_of_a_byte;
        }
    }
    return planes;
}

std::string from_planes(std::string_view planes) {
    ensure(planes.size() % planes_of_a_number == 0, "planes: not eight bytes to a number");
    const std::size_t count = planes.size() / planes_of_a_number;
    std::string numbers(planes.size(), '\0');
    u64 number = 0;
    for (std::size_t at = 0; at < count; ++at) {
        u64 folded = 0;
        for (std::size_t plane = planes_of_a_number; plane > 0; --plane) {
            const auto byte = static_cast<unsigned char>(planes[(plane - 1) * count + at]);
            folded = (folded << bits_of_a_byte) | byte;
        }
        number += unzigzag(folded);
        std::memcpy(numbers.data() + at * planes_of_a_number, &number, sizeof(number));
    }
    return numbers;
}

}  // namespace yantra
