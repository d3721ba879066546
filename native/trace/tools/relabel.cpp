#include "trace/tools/relabel.hpp"

#include <charconv>
#include <cstddef>

namespace yantra {

std::string with_layers(std::string_view text, std::int64_t layers) {
    constexpr std::string_view word = "layers.";
    std::string made;
    std::size_t done = 0;
    for (std::size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
        std::int64_t number = 0;
        const char* const begin = text.data() + at + word.size();
        const auto [end, error] = std::from_chars(begin, text.data() + text.size(), number);
        if ((at > 0 && text[at - 1] != ' ') || error != std::errc() || *begin == '-') {
            continue;
        }
        made += text.substr(done, at + word.size() - done);
        made += std::to_string(number + layers);
        done = static_cast<std::size_t>(end - text.data());
    }
    made += text.substr(done);
    return made;
}

Trace relabelled(const Trace& block, const Relabel& by) {
    Trace made = block;
    const std::uint32_t layer = block.attribute_names.find("layer");
    const std::uint32_t chunk = block.attribute_names.find("chunk");
    const std::uint32_t tag = block.attribute_names.find("comm_tag");
    for (Attribute& item : made.attributes) {
        if (item.name == layer && item.kind == AttributeKind::string) {
            const Text text = made.add_text(with_layers(block.text_of(item), by.layers));
            item.value = text.begin;
            item.count = static_cast<std::uint32_t>(text.size);
        } else if (item.name == chunk) {
            item.value = static_cast<std::uint64_t>(by.chunk);
        } else if (item.name == tag) {
            const bool is_inner = static_cast<std::int64_t>(item.value) >= by.first_inner;
            item.value += static_cast<std::uint64_t>(is_inner ? by.inner_tags : by.tags);
        }
    }
    made.name_bytes.clear();
    for (std::size_t node = 0; node < block.size(); ++node) {
        made.name_bytes += with_layers(block.name(node), by.layers);
        made.name_begin[node + 1] = made.name_bytes.size();
    }
    return made;
}

}  // namespace yantra
